-- The files of a job. In job_files_caller and job_files_list: $1 token hash, $2 job, $3 attempt or null, $4 attempt token hash or
-- null say who calls: the job's owner, or with an attempt the machine that has it. No row: the token is not valid. stale: the attempt is not the current
-- one. may: the caller may see this job.

-- name: job_files_caller
-- Where the caller's chunks are, the job's state and its owner. The answer holds until the end of the transaction if
-- job_rows_lock was an earlier statement of it: the attempt cannot end meanwhile.
WITH caller AS (
  SELECT s.id AS storage_id, false AS stale, EXISTS (SELECT FROM job j WHERE j.id = $2::uuid AND j.account_id = c.id) AS may
  FROM user_caller($1) c JOIN storage s ON s.account_id = c.id WHERE $3::int IS NULL
  UNION ALL
  SELECT s.id, NOT c.current, c.current FROM attempt_caller($1, $2::uuid, $3::int, $4) c
  LEFT JOIN storage s ON s.job_id = $2::uuid AND s.attempt_number = $3::int WHERE $3::int IS NOT NULL
)
SELECT c.storage_id, c.stale, c.may, j.state, j.account_id FROM caller c LEFT JOIN job j ON c.may AND j.id = $2::uuid

-- name: job_files_remove
-- $1 job, $2 role, $3 paths
DELETE FROM job_file WHERE job_id = $1::uuid AND role = $2::job_file_role AND path = ANY($3::text[])

-- name: job_files_of_earlier_attempts_remove
-- $1 job, $2 attempt. What a machine brought that has lost the job since is nobody's result.
DELETE FROM job_file WHERE job_id = $1::uuid AND attempt_number < $2::int

-- name: job_files_insert
-- $1 job, $2 owner, $3 attempt or null, $4 role; parallel arrays $5 paths, $6 sizes, $7 contents, $8 whether they are inline
INSERT INTO job_file (job_id, account_id, attempt_number, role, path, size_bytes, inline_bytes)
SELECT $1::uuid, $2::uuid, $3::int, $4::job_file_role, f.path, f.size_bytes, CASE WHEN f.is_inline THEN f.bytes END
FROM unnest($5::text[], $6::bigint[], $7::bytea[], $8::boolean[]) f (path, size_bytes, bytes, is_inline)

-- name: job_file_chunks_insert
-- $1 job, $2 owner, $3 role, $4 paths; parallel arrays $5 which of the paths (1 …), $6 position, $7 chunk
INSERT INTO job_file_chunk (job_id, account_id, role, path, position, sha256)
SELECT $1::uuid, $2::uuid, $3::job_file_role, ($4::text[])[c.file], c.position, c.sha256
FROM unnest($5::int[], $6::int[], $7::bytea[]) c (file, position, sha256)

-- name: job_files_count
-- $1 job, $2 whether the client's files are counted, or those that machines brought
SELECT count(*) AS files, coalesce(sum(octet_length(inline_bytes)), 0) AS inline_bytes,
       (SELECT count(*) FROM job_file_chunk c
        WHERE c.job_id = $1::uuid AND (c.role IN ('code', 'data')) = $2::boolean) AS chunks
FROM job_file WHERE job_id = $1::uuid AND (attempt_number IS NULL) = $2::boolean

-- name: job_files_conflict
-- $1 job, $2 roles whose files stand in one folder. A file, and a folder of another file that has the same path; no row when
-- there is none.
WITH here AS MATERIALIZED (
  SELECT path FROM job_file WHERE job_id = $1::uuid AND role = ANY($2::job_file_role[])
), folder AS (
  SELECT h.path, array_to_string(p.parts[1:i], '/') AS folder
  FROM here h CROSS JOIN LATERAL (SELECT string_to_array(h.path, '/') AS parts) p
  CROSS JOIN LATERAL generate_series(1, cardinality(p.parts) - 1) i
)
SELECT f.path, f.folder FROM folder f JOIN here h ON h.path = f.folder LIMIT 1

-- name: job_files_list
-- $5 role, $6 page (1 …), $7 rows a page, $8 the first path or null, $9 bytes a page; by path, and one row more than a page if
-- there is one. within: it belongs to the page; what comes when the page has its bytes does not, and is without its contents. A
-- machine sees what it needs to run the job; of what machines brought, the owner sees what the last one did. A row without a
-- path: nothing to show.
WITH caller AS (
  SELECT false AS stale, EXISTS (SELECT FROM job j WHERE j.id = $2::uuid AND j.account_id = c.id) AS may
  FROM user_caller($1) c WHERE $3::int IS NULL
  UNION ALL
  SELECT NOT c.current, c.current AND $5::text IN ('code', 'data') FROM attempt_caller($1, $2::uuid, $3::int, $4) c
  WHERE $3::int IS NOT NULL
)
SELECT c.stale, c.may, f.* FROM caller c LEFT JOIN LATERAL (
  SELECT w.path, w.size_bytes, w.within, CASE WHEN w.within THEN w.inline_bytes END AS inline_bytes,
         CASE WHEN w.within THEN ARRAY(
           SELECT encode(k.sha256, 'hex') FROM job_file_chunk k
           WHERE k.job_id = w.job_id AND k.role = w.role AND k.path = w.path ORDER BY k.position) END AS chunks
  FROM (
    SELECT r.*, sum(r.weight) OVER (ORDER BY r.path) - r.weight < $9::bigint AS within
    FROM (
      -- JSON has two bytes for a line feed, and 67 for the name of a chunk.
      SELECT f.job_id, f.role, f.path, f.size_bytes, f.inline_bytes, 100 + octet_length(f.path) +
             CASE WHEN f.inline_bytes IS NOT NULL THEN 2 * octet_length(f.inline_bytes) ELSE 67 * (
               SELECT count(*) FROM job_file_chunk k WHERE k.job_id = f.job_id AND k.role = f.role AND k.path = f.path) END AS weight
      FROM job_file f JOIN job j ON j.id = f.job_id
      WHERE f.job_id = $2::uuid AND f.role = $5::job_file_role AND f.path >= coalesce($8::text, '')
        AND (f.attempt_number IS NULL OR f.attempt_number = j.attempt_number)
      ORDER BY f.path LIMIT $7::int + 1 OFFSET ($6::int - 1) * $7::int
    ) r
  ) w
  ORDER BY w.path
) f ON c.may

-- name: attempt_files_insert
-- Small files that came with outcomes. Requires job_storages_lock. Parallel arrays $1 jobs, $2 attempts, $3 roles, $4 paths,
-- $5 contents. Those of the same name that the attempt brought before are replaced by attempt_files_replaced, an earlier
-- statement.
INSERT INTO job_file (job_id, account_id, attempt_number, role, path, size_bytes, inline_bytes)
SELECT f.job_id, j.account_id, f.attempt_number, f.role, f.path, octet_length(f.bytes), f.bytes
FROM unnest($1::uuid[], $2::int[], $3::job_file_role[], $4::text[], $5::bytea[]) f (job_id, attempt_number, role, path, bytes)
JOIN job j ON j.id = f.job_id
ORDER BY j.account_id

-- name: attempt_files_replaced
-- Parallel arrays $1 jobs, $2 attempts, $3 roles, $4 paths: the same files, and all that earlier attempts brought. Requires
-- job_storages_lock.
DELETE FROM job_file f USING unnest($1::uuid[], $2::int[], $3::job_file_role[], $4::text[]) n (job_id, attempt_number, role, path)
WHERE f.job_id = n.job_id AND f.attempt_number IS NOT NULL
  AND (f.attempt_number < n.attempt_number OR (f.role = n.role AND f.path = n.path))

-- name: attempt_files_release
-- $1 storages, $2 at most so many. Deletes files of attempts whose jobs were requeued. Requires storages_lock.
WITH due AS (
  SELECT f.job_id, f.role, f.path FROM storage s
  JOIN attempt a ON a.job_id = s.job_id AND a.number = s.attempt_number AND attempt_requeues(a.outcome)
  JOIN job_file f ON f.job_id = s.job_id AND f.attempt_number = s.attempt_number
  WHERE s.id = ANY($1::uuid[]) LIMIT $2::int FOR UPDATE OF f SKIP LOCKED
)
DELETE FROM job_file f USING due d WHERE f.job_id = d.job_id AND f.role = d.role AND f.path = d.path
RETURNING 1
