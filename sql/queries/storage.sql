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
