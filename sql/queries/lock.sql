-- The order in which every transaction locks rows:
--
--    1. job               by id
--    2. machine_session   by id
--    3. machine, attempt
--    4. account_tally     by account
--    5. ledger_account    by id, all those of a transaction in one statement
--    6. storage           of attempts by id, then those of accounts by account
--    7. blob_presence     by chunk
--
-- A transaction that locks a row of an earlier table than one that it has locked already, or rows of a table by another key,
-- uses SKIP LOCKED: it then never waits while others wait for it. That is how a worker locks jobs after sessions, and how blob
-- rows are locked. Foreign keys lock FOR KEY SHARE; only DELETE and FOR UPDATE wait for that, on job, machine, storage and
-- blob. A statement's snapshot may be older than its locks: what depends on a lock is read by a later statement.

-- name: job_rows_lock
-- $1 jobs
SELECT 1 FROM job WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE

-- name: attempt_sessions_lock
-- Parallel arrays $1 jobs, $2 numbers. The machine sessions of these attempts.
SELECT 1 FROM machine_session
WHERE id IN (SELECT a.machine_session_id FROM unnest($1::uuid[], $2::int[]) n (job_id, number)
             JOIN attempt a ON a.job_id = n.job_id AND a.number = n.number)
ORDER BY id FOR NO KEY UPDATE

-- name: machine_session_lock
-- $1 token hash, $2 machine, of that account or any for an admin. Its session, if it has one.
SELECT 1 FROM user_caller($1) c JOIN machine m ON m.id = $2::uuid AND (m.account_id = c.id OR c.role = 'admin')
JOIN machine_session s ON s.machine_id = m.id AND s.ended_at IS NULL FOR NO KEY UPDATE OF s

-- name: account_tally_lock
-- $1 token hash. The tally of that account, for counting what it has in a later statement.
SELECT 1 FROM user_caller($1) c JOIN account_tally t ON t.account_id = c.id FOR NO KEY UPDATE OF t

-- name: job_tallies_lock
-- $1 jobs. The tallies of their owners, for deleting or ending several jobs.
SELECT 1 FROM account_tally WHERE account_id IN (SELECT account_id FROM job WHERE id = ANY($1::uuid[]))
ORDER BY account_id FOR NO KEY UPDATE

-- name: job_storages_lock
-- $1 jobs. The storages of all their attempts, then those of their owners: a file that an attempt brings replaces files of
-- earlier attempts, and is charged to all of them. The array is complete, and so all attempts are locked, before the first
-- owner is.
WITH attempts AS MATERIALIZED (
  SELECT j.account_id FROM storage s JOIN job j ON j.id = s.job_id WHERE s.job_id = ANY($1::uuid[])
  ORDER BY s.id FOR NO KEY UPDATE OF s
)
SELECT 1 FROM storage WHERE account_id = ANY(ARRAY(
  SELECT account_id FROM attempts UNION ALL SELECT account_id FROM job WHERE id = ANY($1::uuid[])))
ORDER BY account_id FOR NO KEY UPDATE

-- name: storages_lock
-- $1 storages, of attempts or of accounts. Those, and the ones of the accounts that are charged for them, as above.
WITH attempts AS MATERIALIZED (
  SELECT j.account_id FROM storage s JOIN job j ON j.id = s.job_id WHERE s.id = ANY($1::uuid[])
  ORDER BY s.id FOR NO KEY UPDATE OF s
)
SELECT 1 FROM storage WHERE account_id = ANY(ARRAY(
  SELECT account_id FROM attempts
  UNION ALL SELECT account_id FROM storage WHERE id = ANY($1::uuid[]) AND account_id IS NOT NULL))
ORDER BY account_id FOR NO KEY UPDATE
