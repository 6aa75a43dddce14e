-- Storages: what accounts and attempts have uploaded. Those of attempts that have ended are released by a worker, a part at a time.

-- name: storage_released_some
-- $1 at most so many
SELECT storage_id FROM storage_released ORDER BY storage_id LIMIT $1::int

-- name: storage_released_delete_empty
-- $1 storages. Those that are empty now.
DELETE FROM storage_released r
WHERE r.storage_id = ANY($1::uuid[]) AND NOT EXISTS (SELECT FROM blob_presence p WHERE p.storage_id = r.storage_id)
  AND NOT EXISTS (
    SELECT FROM storage s
    JOIN attempt a ON a.job_id = s.job_id AND a.number = s.attempt_number AND attempt_requeues(a.outcome)
    JOIN job_file f ON f.job_id = s.job_id AND f.attempt_number = s.attempt_number
    WHERE s.id = r.storage_id)
