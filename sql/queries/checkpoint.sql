-- Checkpoints of running jobs. What records, drops or uses one locks the job's row (job_rows_lock), so that the attempt cannot end
-- meanwhile, then its attempts, then the storages (job_storages_lock). $1 token hash, $2 job, $3 attempt or null and $4 attempt
-- token hash or null identify the caller, as parameters of storage_caller.

-- name: checkpoint_caller
-- No row: the token is not valid. stale: the attempt is not the current one. may: the caller may see this job. storage_id is null
-- before the first chunk. said: the attempt has said where it went on from, or there was nothing to go on from.
SELECT false AS stale, EXISTS (SELECT FROM job j WHERE j.id = $2::uuid AND j.account_id = c.id) AS may,
       false AS resumable, NULL::uuid AS storage_id, NULL::text[] AS watched_variables, false AS said
FROM user_caller($1) c WHERE $3::int IS NULL
UNION ALL
SELECT NOT c.current, c.current, coalesce(j.resumable, false), s.id, j.watched_variables,
       a.resumed_from IS NOT NULL OR NOT EXISTS (
         SELECT FROM checkpoint k WHERE k.job_id = $2::uuid AND k.attempt_number < $3::int AND k.unusable_because IS NULL)
FROM attempt_caller($1, $2::uuid, $3::int, $4) c
LEFT JOIN job j ON c.current AND j.id = $2::uuid
LEFT JOIN attempt a ON c.current AND a.job_id = $2::uuid AND a.number = $3::int
LEFT JOIN storage s ON c.current AND s.job_id = $2::uuid AND s.attempt_number IS NULL
WHERE $3::int IS NOT NULL

-- name: checkpoint_recorded
-- $1 job, $2 attempt, $3 number. sequence: of the checkpoint that was recorded under this number, if one was; newest: the
-- attempt's highest number.
SELECT max(sequence) FILTER (WHERE number = $3::int) AS sequence, coalesce(max(number), 0) AS newest
FROM checkpoint WHERE job_id = $1::uuid AND attempt_number = $2::int

-- name: checkpoint_record
-- $1 job, $2 attempt, $3 number, $4 format, $5 R version, $6 architecture, $7 packages, $8 state_bytes, $9 size_bytes,
-- $10 sent_bytes, $11 pause_ms, $12 interval_ms, $13 position, $14 CPU ms of the attempt, $15 age in ms, $16 progress or null,
-- $17 its message or null, $18 watched, $19 log_left_out. Requires that the attempt is current. The job's losses begin again:
-- it gets on.
WITH of_job AS (
  UPDATE job SET checkpoint_sequence = checkpoint_sequence + 1, losses = 0, checkpoint_interval_ms = $12::bigint,
                 checkpoint_problem = NULL
  WHERE id = $1::uuid
  RETURNING checkpoint_sequence, cpu_cores
), of_attempt AS (
  UPDATE attempt a SET checkpoints = a.checkpoints + 1 FROM of_job j WHERE a.job_id = $1::uuid AND a.number = $2::int
  RETURNING a.cpu_ms_before, cpu_ms_counted($14::bigint, a.accepted_at, j.cpu_cores) AS cpu_ms
)
INSERT INTO checkpoint (job_id, sequence, attempt_number, number, format, r_version, architecture, packages, state_bytes, size_bytes,
                        sent_bytes, pause_ms, interval_ms, position, attempt_cpu_ms, cpu_ms, taken_at, progress, progress_message,
                        watched, log_left_out)
SELECT $1::uuid, j.checkpoint_sequence, $2::int, $3::int, $4::int, $5, $6, $7::text[], $8::bigint, $9::bigint, $10::bigint,
       $11::float8, $12::bigint, $13::jsonb, a.cpu_ms, a.cpu_ms_before + a.cpu_ms, now() - make_interval(secs => $15::bigint / 1000.0),
       $16::real, $17, $18::jsonb, $19::bigint
FROM of_job j, of_attempt a
RETURNING sequence

-- name: checkpoint_chunk_missing
-- $1 storage or null, $2 chunks. One that is not present there, if any. Requires that the storage is locked.
SELECT encode(n.sha256, 'hex') AS sha256 FROM unnest($2::bytea[]) n (sha256)
WHERE NOT EXISTS (SELECT FROM blob_presence p WHERE p.storage_id = $1::uuid AND p.sha256 = n.sha256) LIMIT 1

-- name: checkpoint_chunks_insert
-- $1 job, $2 sequence, $3 chunks in order, $4 the log's chunk or null
INSERT INTO checkpoint_chunk (job_id, sequence, role, position, sha256)
SELECT $1::uuid, $2::int, 'state'::checkpoint_role, c.position - 1, c.sha256 FROM unnest($3::bytea[]) WITH ORDINALITY c (sha256, position)
UNION ALL
SELECT $1::uuid, $2::int, 'log', 0, $4::bytea WHERE $4::bytea IS NOT NULL

-- name: checkpoint_delete_older
-- $1 job, $2 how many usable ones stay. The unusable ones go.
DELETE FROM checkpoint
WHERE job_id = $1::uuid AND (unusable_because IS NOT NULL OR sequence < (
  SELECT min(n.sequence) FROM (
    SELECT sequence FROM checkpoint WHERE job_id = $1::uuid AND unusable_because IS NULL ORDER BY sequence DESC LIMIT $2::int) n))

-- name: checkpoint_drop_oldest
-- $1 job. Drops its oldest checkpoint, an unusable one first, with the presence of chunks that no other of its checkpoints has.
-- No row: it has one at most that is usable. Requires job_storages_lock.
WITH oldest AS (
  SELECT c.sequence FROM checkpoint c
  WHERE c.job_id = $1::uuid AND (c.unusable_because IS NOT NULL OR (SELECT count(*) FROM checkpoint k WHERE k.job_id = $1::uuid) > 1)
  ORDER BY c.unusable_because IS NULL, c.sequence LIMIT 1
), held AS MATERIALIZED (
  SELECT p.storage_id, p.sha256 FROM storage s JOIN blob_presence p ON p.storage_id = s.id
  WHERE s.job_id = $1::uuid AND s.attempt_number IS NULL
    AND EXISTS (SELECT FROM checkpoint_chunk r JOIN oldest o ON o.sequence = r.sequence WHERE r.sha256 = p.sha256 AND r.job_id = $1::uuid)
    AND NOT EXISTS (SELECT FROM checkpoint_chunk r JOIN oldest o ON o.sequence <> r.sequence
                    WHERE r.sha256 = p.sha256 AND r.job_id = $1::uuid)
  ORDER BY p.sha256 FOR UPDATE OF p
), gone AS (
  DELETE FROM blob_presence p USING held h WHERE p.storage_id = h.storage_id AND p.sha256 = h.sha256
  RETURNING p.storage_id, p.sha256
), freed AS (
  UPDATE storage s SET used_bytes = s.used_bytes - g.bytes
  FROM (SELECT storage_id, sum(chunk_charge(size_bytes)) AS bytes FROM gone JOIN blob USING (sha256) GROUP BY storage_id) g
  WHERE s.id = g.storage_id
)
DELETE FROM checkpoint c USING oldest o WHERE c.job_id = $1::uuid AND c.sequence = o.sequence RETURNING c.sequence

-- name: checkpoints_usable
-- For the machine with the job's current attempt, newest first. cpu_ms_max: what the rest of the escrow buys at its price when it
-- goes on from there. A row without a sequence: there is none.
SELECT NOT c.current AS stale, k.*
FROM attempt_caller($1, $2::uuid, $3::int, $4) c LEFT JOIN LATERAL (
  SELECT k.sequence, k.attempt_number, k.number, k.format, k.r_version, k.architecture, k.packages, k.state_bytes, k.size_bytes,
         k.sent_bytes, k.pause_ms, k.interval_ms, k.position, k.attempt_cpu_ms, k.progress, k.progress_message, k.watched, k.log_left_out,
         greatest(0, (extract(epoch FROM now() - k.taken_at) * 1000)::bigint) AS age_ms,
         (SELECT encode(l.sha256, 'hex') FROM checkpoint_chunk l
          WHERE l.job_id = k.job_id AND l.sequence = k.sequence AND l.role = 'log') AS log,
         cpu_ms_bought((held.micro - least(held.micro, coalesce(d.due_micro, 0)))::bigint, a.price_micro_per_cpu_second) AS cpu_ms_max
  FROM checkpoint k JOIN attempt a ON a.job_id = k.job_id AND a.number = $3::int
  CROSS JOIN LATERAL (SELECT coalesce((SELECT e.balance_micro FROM ledger_account e
                                       WHERE e.job_id = k.job_id AND e.kind = 'escrow'), 0) AS micro) held
  LEFT JOIN checkpoint_due d ON d.job_id = k.job_id AND d.sequence = k.sequence
  WHERE k.job_id = $2::uuid AND k.unusable_because IS NULL
) k ON c.current
ORDER BY k.sequence DESC

-- name: checkpoint_chunks
-- $5 sequence. The chunks of a usable checkpoint, for the machine with the job's current attempt. chunks is null when there is
-- none with this sequence.
SELECT NOT c.current AS stale,
       CASE WHEN k.sequence IS NOT NULL THEN ARRAY(
         SELECT encode(r.sha256, 'hex') FROM checkpoint_chunk r
         WHERE r.job_id = k.job_id AND r.sequence = k.sequence AND r.role = 'state' ORDER BY r.position) END AS chunks
FROM attempt_caller($1, $2::uuid, $3::int, $4) c
LEFT JOIN checkpoint k ON c.current AND k.job_id = $2::uuid AND k.sequence = $5::int AND k.unusable_because IS NULL

-- name: checkpoints_kept
-- $1 token hash, $2 job. For its owner or an admin, newest first; none once the job has ended. No row: the token is not valid.
-- job_id is null when there is no such job for this caller.
SELECT j.id AS job_id, k.sequence, k.attempt_number, utc_text(k.taken_at) AS at, k.size_bytes, k.sent_bytes, k.pause_ms, k.position,
       k.r_version, k.architecture, k.packages, k.cpu_ms, k.unusable_because
FROM user_caller($1) c LEFT JOIN job j ON j.id = $2::uuid AND (j.account_id = c.id OR c.role = 'admin')
LEFT JOIN checkpoint k ON k.job_id = j.id AND j.ended_at IS NULL
ORDER BY k.sequence DESC

-- name: checkpoint_usable
-- $1 job, $2 sequence, $3 attempt. Whether this attempt may go on from there.
SELECT EXISTS (SELECT FROM checkpoint WHERE job_id = $1::uuid AND sequence = $2::int AND unusable_because IS NULL
               AND attempt_number < $3::int) AS usable

-- name: checkpoints_pass_over
-- $1 job, $2 sequence or 0, $3 attempt that goes on from there, $4 why. What earlier attempts recorded after it is not usable any
-- more: the attempt repeats that part.
UPDATE checkpoint SET unusable_because = $4
WHERE job_id = $1::uuid AND sequence > $2::int AND attempt_number < $3::int AND unusable_because IS NULL

-- name: checkpoints_skip
-- $1 job; parallel arrays $2 sequences, $3 reasons. Those that a machine could not resume, although newer than the one that it did.
UPDATE checkpoint c SET unusable_because = s.reason FROM unnest($2::int[], $3::text[]) s (sequence, reason)
WHERE c.job_id = $1::uuid AND c.sequence = s.sequence AND c.unusable_because IS NOT NULL

-- name: checkpoints_release
-- $1 storages, $2 at most so many. Deletes checkpoints of jobs that have ended. Requires storages_lock.
WITH due AS (
  SELECT c.job_id, c.sequence FROM storage s JOIN job j ON j.id = s.job_id AND j.ended_at IS NOT NULL
  JOIN checkpoint c ON c.job_id = j.id
  WHERE s.id = ANY($1::uuid[]) AND s.attempt_number IS NULL
  LIMIT $2::int FOR UPDATE OF c SKIP LOCKED
)
DELETE FROM checkpoint c USING due d WHERE c.job_id = d.job_id AND c.sequence = d.sequence
RETURNING 1
