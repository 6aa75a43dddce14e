-- Storages: what accounts and attempts have uploaded. Those of attempts, and of the checkpoints of jobs, that have ended are
-- released by a worker, a part at a time.

-- name: storage_released_some
-- $1 at most so many
SELECT storage_id FROM storage_released ORDER BY storage_id LIMIT $1::int

-- name: storage_released_delete_empty
-- $1 storages. Those that are empty now; one of checkpoints is deleted with them.
WITH empty AS (
  SELECT s.id, s.attempt_number FROM storage s
  WHERE s.id = ANY($1::uuid[]) AND s.job_id IS NOT NULL AND NOT EXISTS (SELECT FROM blob_presence p WHERE p.storage_id = s.id)
    AND NOT (s.attempt_number IS NULL AND EXISTS (SELECT FROM checkpoint c WHERE c.job_id = s.job_id))
), gone AS (
  DELETE FROM storage s USING empty e WHERE s.id = e.id AND e.attempt_number IS NULL
)
DELETE FROM storage_released r
USING empty e WHERE r.storage_id = e.id
  AND NOT EXISTS (
    SELECT FROM storage s
    JOIN attempt a ON a.job_id = s.job_id AND a.number = s.attempt_number AND attempt_requeues(a.outcome)
    JOIN job_file f ON f.job_id = s.job_id AND f.attempt_number = s.attempt_number
    WHERE s.id = r.storage_id)

-- name: storage_of_checkpoints
-- $1 token hash, $2 job, $3 attempt, $4 attempt token hash. Makes the storage of the job's checkpoints, for the machine that has its
-- current attempt. One that exists stays as it is.
INSERT INTO storage (id, job_id, owner_id, quota_bytes)
SELECT gen_random_uuid(), j.id, j.account_id, job_checkpoints_quota(s.quota_bytes)
FROM attempt_caller($1, $2::uuid, $3::int, $4) c JOIN job j ON c.current AND j.id = $2::uuid AND j.resumable
JOIN storage s ON s.account_id = j.account_id
ON CONFLICT (job_id) WHERE job_id IS NOT NULL AND attempt_number IS NULL DO NOTHING

-- name: storage_released_sweep
-- Storages of checkpoints whose job has ended and which nobody has released: job_end does, so there are none as a rule.
INSERT INTO storage_released (storage_id)
SELECT s.id FROM storage s JOIN job j ON j.id = s.job_id AND j.ended_at IS NOT NULL
WHERE s.job_id IS NOT NULL AND s.attempt_number IS NULL
ON CONFLICT (storage_id) DO NOTHING
