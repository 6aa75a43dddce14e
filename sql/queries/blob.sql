-- Chunks. In blob_present, blob_store and blob_read: $1 token hash, $2 job or null, $3 attempt or null, $4 attempt token hash or
-- null identify the caller, as parameters of storage_caller. No row: the token is not valid. stale: the attempt is not the current one.

-- name: blob_present
-- $5 whether they are for the job's checkpoints, $6 chunks, $7 seconds. Those that are present in the caller's storage, and those that the calling attempt has referred to
-- already. Pins them for that time, unless they are pinned for at least half of it, so that frequent calls are cheap.
WITH caller AS (
  SELECT id, stale FROM storage_caller($1, $2::uuid, $3::int, $4, $5::boolean)
), found AS (
  SELECT p.storage_id, p.sha256, p.pinned_until FROM caller c JOIN blob_presence p ON p.storage_id = c.id
  WHERE p.sha256 = ANY($6::bytea[]) ORDER BY p.sha256 FOR NO KEY UPDATE OF p
), pinned AS (
  UPDATE blob_presence p SET pinned_until = now() + make_interval(secs => $7::int)
  FROM found f
  WHERE p.storage_id = f.storage_id AND p.sha256 = f.sha256
    AND f.pinned_until < now() + make_interval(secs => $7::int) / 2
), present AS (
  SELECT sha256 FROM found
  UNION
  SELECT a.sha256 FROM caller c CROSS JOIN unnest($6::bytea[]) a (sha256)
  WHERE $2::uuid IS NOT NULL AND NOT $5::boolean AND c.id IS NOT NULL AND attempt_has_named($2::uuid, $3::int, a.sha256)
)
SELECT c.stale, encode(p.sha256, 'hex') AS sha256, b.generation
FROM caller c LEFT JOIN present p ON true LEFT JOIN blob b ON b.sha256 = p.sha256

-- name: blob_store
-- $5 whether it is for the job's checkpoints (requires storage_of_checkpoints), $6 chunk, $7 its size, $8 the size of its
-- file, $9 the file's generation, $10 seconds to pin it. generation: of the file in use, which is an older one when the chunk was
-- stored before.
WITH caller AS (
  SELECT id, stale FROM storage_caller($1, $2::uuid, $3::int, $4, $5::boolean)
), stored AS (
  INSERT INTO blob (sha256, size_bytes, stored_bytes, generation, check_after)
  SELECT $6::bytea, $7::int, $8::int, $9::uuid, now() + make_interval(secs => $10::int) FROM caller WHERE id IS NOT NULL
  -- Not DO NOTHING: the row must be locked, lest it is collected before the presence below refers to it.
  ON CONFLICT (sha256) DO UPDATE SET check_after = excluded.check_after
  RETURNING generation
), present AS (
  INSERT INTO blob_presence (storage_id, sha256, pinned_until)
  SELECT c.id, $6::bytea, now() + make_interval(secs => $10::int) FROM caller c, stored
  ON CONFLICT (storage_id, sha256) DO NOTHING
  RETURNING storage_id
), charged AS (
  UPDATE storage s SET used_bytes = s.used_bytes + chunk_charge($7::int) FROM present p WHERE s.id = p.storage_id
)
SELECT c.stale, s.generation FROM caller c LEFT JOIN stored s ON true

-- name: blob_mend
-- $1 chunk, $2 the generation whose file is gone, $3 the one that has the bytes, $4 the size of its file. No row: another
-- market has replaced it meanwhile.
UPDATE blob SET generation = $3::uuid, stored_bytes = $4::int WHERE sha256 = $1::bytea AND generation = $2::uuid
RETURNING 1

-- name: blob_store_id
SELECT id FROM blob_store

-- name: blob_read
-- $2 is never null here: reading goes through a job that refers to the chunk, $5. $3 null: the job's owner reads.
-- generation is null when there is nothing to read for this caller.
WITH caller AS (
  SELECT false AS stale, j.account_id FROM user_caller($1) c
  LEFT JOIN job j ON j.id = $2::uuid AND j.account_id = c.id WHERE $3::int IS NULL
  UNION ALL
  SELECT NOT c.current, j.account_id FROM attempt_caller($1, $2::uuid, $3::int, $4) c
  LEFT JOIN job j ON c.current AND j.id = $2::uuid WHERE $3::int IS NOT NULL
)
SELECT c.stale, b.generation, b.size_bytes
FROM caller c LEFT JOIN blob b ON c.account_id IS NOT NULL AND b.sha256 = $5::bytea AND (
  EXISTS (SELECT FROM job_file_chunk r WHERE r.sha256 = b.sha256 AND r.account_id = c.account_id AND r.job_id = $2::uuid
          AND ($3::int IS NULL OR r.role IN ('code', 'data')))
  OR EXISTS (SELECT FROM checkpoint_chunk r WHERE r.sha256 = b.sha256 AND r.job_id = $2::uuid AND $3::int IS NOT NULL)
  OR EXISTS (SELECT FROM watched_record_chunk r WHERE r.sha256 = b.sha256 AND r.job_id = $2::uuid AND $3::int IS NULL))

-- name: blob_presence_release
-- $1 storages of attempts or of checkpoints of jobs that have ended, $2 at most so many. Ends presences of them, and gives their owners the bytes back.
-- Requires storages_lock.
WITH due AS (
  SELECT storage_id, sha256 FROM blob_presence WHERE storage_id = ANY($1::uuid[]) LIMIT $2::int FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM blob_presence p USING due d WHERE p.storage_id = d.storage_id AND p.sha256 = d.sha256
  RETURNING p.storage_id, p.sha256
), looked_at_soon AS (
  UPDATE blob b SET check_after = now()
  FROM (SELECT b.sha256 FROM gone g JOIN blob b ON b.sha256 = g.sha256 ORDER BY b.sha256 FOR NO KEY UPDATE OF b SKIP LOCKED) c
  WHERE b.sha256 = c.sha256 AND b.check_after > now()
), freed AS (
  UPDATE storage s SET used_bytes = s.used_bytes - g.bytes
  FROM (SELECT storage_id, sum(chunk_charge(size_bytes)) AS bytes FROM gone JOIN blob USING (sha256) GROUP BY storage_id) g
  WHERE s.id = g.storage_id
)
SELECT count(*) AS ended FROM gone

-- name: blob_presence_due
-- $1 at most so many. Storages of the presences whose pins have ended first.
SELECT DISTINCT storage_id FROM (
  SELECT storage_id FROM blob_presence WHERE pinned_until < now() ORDER BY pinned_until LIMIT $1::int) due

-- name: blob_presence_mark
-- $1 storages, $2 at most so many. Requires storages_lock. Locks presences whose pin has ended and marks them with -infinity,
-- which only this transaction sees; blob_presence_collect then decides about them under that lock.
WITH due AS (
  SELECT storage_id, sha256 FROM blob_presence WHERE pinned_until < now() AND storage_id = ANY($1::uuid[])
  ORDER BY pinned_until LIMIT $2::int FOR UPDATE SKIP LOCKED
)
UPDATE blob_presence p SET pinned_until = '-infinity' FROM due d
WHERE p.storage_id = d.storage_id AND p.sha256 = d.sha256
RETURNING 1

-- name: blob_presence_collect
-- $1 seconds until what is still needed is looked at again. Ends the marked presences that nothing of the same account, no
-- living attempt, or no checkpoint of a job that has not ended, needs; gives the storage its bytes back.
WITH marked AS (
  SELECT p.storage_id, p.sha256, CASE
           WHEN s.account_id IS NOT NULL THEN EXISTS (
             SELECT FROM job_file_chunk r WHERE r.sha256 = p.sha256 AND r.account_id = s.account_id)
           WHEN s.attempt_number IS NULL THEN EXISTS (
             SELECT FROM checkpoint_chunk r JOIN job j ON j.id = r.job_id AND j.ended_at IS NULL
             WHERE r.sha256 = p.sha256 AND r.job_id = s.job_id)
           ELSE EXISTS (
             SELECT FROM attempt a WHERE a.job_id = s.job_id AND a.number = s.attempt_number AND a.ended_at IS NULL)
         END AS needed
  FROM blob_presence p JOIN storage s ON s.id = p.storage_id WHERE p.pinned_until = '-infinity'
), kept AS (
  UPDATE blob_presence p SET pinned_until = now() + make_interval(secs => $1::int)
  FROM marked m WHERE m.needed AND p.storage_id = m.storage_id AND p.sha256 = m.sha256
), gone AS (
  DELETE FROM blob_presence p USING marked m
  WHERE NOT m.needed AND p.storage_id = m.storage_id AND p.sha256 = m.sha256
  RETURNING p.storage_id, p.sha256
), freed AS (
  UPDATE storage s SET used_bytes = s.used_bytes - g.bytes
  FROM (SELECT storage_id, sum(chunk_charge(size_bytes)) AS bytes FROM gone JOIN blob USING (sha256) GROUP BY storage_id) g
  WHERE s.id = g.storage_id
)
SELECT count(*) AS ended FROM gone

-- name: blob_presence_end_of_checkpoints
-- $1 job. Ends the presence of chunks that were sent for its checkpoints and that none of them has. Requires job_storages_lock.
WITH held AS MATERIALIZED (
  SELECT p.storage_id, p.sha256 FROM storage s JOIN blob_presence p ON p.storage_id = s.id
  WHERE s.job_id = $1::uuid AND s.attempt_number IS NULL
    AND NOT EXISTS (SELECT FROM checkpoint_chunk r WHERE r.sha256 = p.sha256 AND r.job_id = $1::uuid)
  ORDER BY p.sha256 FOR UPDATE OF p
), gone AS (
  DELETE FROM blob_presence p USING held h WHERE p.storage_id = h.storage_id AND p.sha256 = h.sha256
  RETURNING p.storage_id, p.sha256
), looked_at_soon AS (
  UPDATE blob b SET check_after = now()
  FROM (SELECT b.sha256 FROM gone g JOIN blob b ON b.sha256 = g.sha256 ORDER BY b.sha256 FOR NO KEY UPDATE OF b SKIP LOCKED) c
  WHERE b.sha256 = c.sha256 AND b.check_after > now()
)
UPDATE storage s SET used_bytes = s.used_bytes - g.bytes
FROM (SELECT storage_id, sum(chunk_charge(size_bytes)) AS bytes FROM gone JOIN blob USING (sha256) GROUP BY storage_id) g
WHERE s.id = g.storage_id

-- name: blob_mark
-- $1 at most so many. Locks and marks chunks that are due for a check, as blob_presence_mark does. Nothing can begin to refer
-- to a locked chunk.
WITH due AS (
  SELECT sha256 FROM blob WHERE check_after < now() ORDER BY check_after LIMIT $1::int FOR UPDATE SKIP LOCKED
)
UPDATE blob b SET check_after = '-infinity' FROM due d WHERE b.sha256 = d.sha256
RETURNING 1

-- name: blob_collect
-- $1 seconds until what is still referred to is looked at again. Deletes the marked chunks that nothing refers to; their
-- files are to be deleted after the commit.
WITH marked AS (
  SELECT b.sha256, EXISTS (SELECT FROM blob_presence r WHERE r.sha256 = b.sha256)
                OR EXISTS (SELECT FROM job_file_chunk r WHERE r.sha256 = b.sha256)
                OR EXISTS (SELECT FROM checkpoint_chunk r WHERE r.sha256 = b.sha256)
                OR EXISTS (SELECT FROM watched_record_chunk r WHERE r.sha256 = b.sha256) AS needed
  FROM blob b WHERE b.check_after = '-infinity'
), kept AS (
  UPDATE blob b SET check_after = now() + make_interval(secs => $1::int) FROM marked m WHERE m.needed AND b.sha256 = m.sha256
)
DELETE FROM blob b USING marked m WHERE NOT m.needed AND b.sha256 = m.sha256
RETURNING encode(b.sha256, 'hex') AS sha256, b.generation

-- name: blob_known
-- $1 chunks, $2 generations, parallel arrays. Which of these files the database knows.
SELECT encode(b.sha256, 'hex') AS sha256, b.generation
FROM unnest($1::bytea[], $2::uuid[]) f (sha256, generation)
JOIN blob b ON b.sha256 = f.sha256 AND b.generation = f.generation

-- name: storage_chunks
-- $1 storage, $2 chunks. Those that are present, with their sizes; they cannot be collected before the commit.
SELECT encode(b.sha256, 'hex') AS sha256, b.size_bytes
FROM blob_presence p JOIN blob b ON b.sha256 = p.sha256
WHERE p.storage_id = $1::uuid AND p.sha256 = ANY($2::bytea[])
FOR KEY SHARE OF p, b

-- name: attempt_chunks_named
-- $1 storage of an attempt, $2 chunks. Those that it has named already, with their sizes; likewise.
SELECT encode(b.sha256, 'hex') AS sha256, b.size_bytes
FROM storage s JOIN blob b ON b.sha256 = ANY($2::bytea[])
WHERE s.id = $1::uuid AND s.job_id IS NOT NULL AND attempt_has_named(s.job_id, s.attempt_number, b.sha256)
FOR KEY SHARE OF b

-- name: attempt_chunks_name
-- $1 storage of an attempt, $2 chunks that a file or a value of it is about to have, $3 whether it may turn out that it does
-- not: then they are looked at soon. They count as that from now on, and no longer as uploaded. Requires job_storages_lock.
WITH held AS MATERIALIZED (
  SELECT sha256 FROM blob_presence WHERE storage_id = $1::uuid AND sha256 = ANY($2::bytea[]) ORDER BY sha256 FOR UPDATE
), gone AS (
  DELETE FROM blob_presence p WHERE p.storage_id = $1::uuid AND p.sha256 = ANY(ARRAY(SELECT sha256 FROM held))
  RETURNING p.sha256
), looked_at_soon AS (
  UPDATE blob b SET check_after = now()
  FROM (SELECT b.sha256 FROM gone g JOIN blob b ON b.sha256 = g.sha256 WHERE $3::boolean
        ORDER BY b.sha256 FOR NO KEY UPDATE OF b SKIP LOCKED) c
  WHERE b.sha256 = c.sha256 AND b.check_after > now()
), freed AS (
  SELECT sum(chunk_charge(b.size_bytes)) AS bytes FROM gone JOIN blob b USING (sha256)
)
UPDATE storage s SET used_bytes = s.used_bytes - f.bytes FROM freed f WHERE s.id = $1::uuid AND f.bytes > 0
