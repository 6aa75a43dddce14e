-- name: job_create
-- Creates a job: checks the caller, inserts the job, its code, its escrow and the message to the workers, in one statement and
-- so in one transaction and one round trip.
--   $1 token hash   $2 job id   $3 name   $4 exec_file   $5 cpu_cores   $6 ram_mb   $7 disc_mb   $8 price_micro
--   $9 deadline, seconds from now or null   $10 watched variables   $11 idempotency key or null
--   $12 sha256 of the request or null   $13 code or null   $14 submit   $15 escrow ledger account id
--   $16 transfer id   $17 message id   $18 request id   $19 jobs, $20 not submitted, $21 submissions an hour: so many at most
--   $22 whether its owner wants checkpoints
-- No row: the token is not valid. A row without an id: this idempotency key was used before, or the account has too many.
WITH caller AS (
  SELECT c.id, t.jobs, t.uploading_jobs, submissions_within(t.hour, t.submissions) AS submissions
  FROM user_caller($1) c JOIN account_tally t ON t.account_id = c.id FOR NO KEY UPDATE OF t
), created AS (
  INSERT INTO job (id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, price_micro, deadline,
                   watched_variables, idempotency_key, request_sha256, submitted_at, rank, request_id, resumable)
  SELECT $2::uuid, c.id, $3, $4, CASE WHEN $14::boolean THEN 'queued' ELSE 'uploading' END::job_state,
         $5::int, $6::int, $7::int, $8::bigint, now() + make_interval(secs => $9::int),
         $10::text[], $11, $12::bytea, CASE WHEN $14::boolean THEN now() END,
         CASE WHEN $14::boolean THEN job_rank(now(), $8::bigint) END, CASE WHEN $14::boolean THEN $18::uuid END,
         $22::boolean
  FROM caller c
  WHERE c.jobs < $19::int AND CASE WHEN $14::boolean THEN c.submissions < $21::int ELSE c.uploading_jobs < $20::int END
  ON CONFLICT (account_id, idempotency_key) DO NOTHING
  RETURNING *
), code AS (
  INSERT INTO job_file (job_id, account_id, role, path, size_bytes, inline_bytes)
  SELECT id, account_id, 'code', exec_file, octet_length($13::bytea), $13::bytea FROM created WHERE $13::bytea IS NOT NULL
), escrow AS (
  INSERT INTO ledger_account (id, kind, job_id, holder_id)
  SELECT $15::uuid, 'escrow', c.id, u.id FROM created c JOIN ledger_account u ON u.account_id = c.account_id AND u.kind = 'user'
  WHERE c.state = 'queued' AND c.price_micro > 0
  RETURNING id
), hold AS (
  INSERT INTO ledger_transfer (id, idempotency_key, reason, job_id)
  SELECT $16::uuid, 'hold:' || c.id, 'hold', c.id FROM created c, escrow
  RETURNING id
), entries AS (
  INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
  SELECT h.id, e.id, c.price_micro FROM hold h, escrow e, created c
  UNION ALL
  SELECT h.id, u.id, -c.price_micro
  FROM hold h, created c JOIN ledger_account u ON u.account_id = c.account_id AND u.kind = 'user'
), message AS (
  INSERT INTO outbox (message_id, routing_key, body, request_id)
  SELECT $17::uuid, 'jobs.ready', jsonb_build_object('jobs', jsonb_build_array(id)), $18::uuid FROM created WHERE state = 'queued'
)
SELECT c.id AS caller, c.jobs, j.id, j.account_id, j.name, j.exec_file, j.state, j.cpu_cores, j.ram_mb, j.disc_mb, j.price_micro,
       utc_text(j.deadline) AS deadline, j.watched_variables, utc_text(j.created_at) AS created_at,
       utc_text(j.submitted_at) AS submitted_at, utc_text(j.ended_at) AS ended_at, j.attempt_number,
       j.failure_code, j.failure_detail, j.version, j.progress, j.progress_message, j.resumable, j.checkpoint_interval_ms,
       j.checkpoint_problem, NULL AS checkpoint_at, NULL AS resume_until, j.resume_problem
FROM caller c LEFT JOIN created j ON true

-- name: job_by_idempotency_key
-- What an earlier request with this key made. $1 account, $2 key
SELECT id, request_sha256 FROM job WHERE account_id = $1::uuid AND idempotency_key = $2

-- name: job_view
-- $1 token hash, $2 job. No row: the token is not valid. A row without an id: no such job for this caller.
SELECT c.id AS caller, j.* FROM user_caller($1) c
LEFT JOIN job_shown j ON j.id = $2::uuid AND (j.account_id = c.id OR c.role = 'admin')

-- name: job_list
-- $1 token hash, $2 state or null, $3 page (1 …), $4 rows a page. Newest first, and one row more than a page if there is
-- one. No row: the token is not valid. A row without an id: nothing to show.
SELECT c.id AS caller, j.* FROM user_caller($1) c LEFT JOIN LATERAL (
  SELECT * FROM job_listed WHERE account_id = c.id AND ($2::job_state IS NULL OR state = $2::job_state)
  ORDER BY id DESC LIMIT $4::int + 1 OFFSET ($3::int - 1) * $4::int
) j ON true

-- name: job_submit
-- $1 token hash, $2 job, $3 escrow ledger account id, $4 transfer id, $5 message id, $6 request id, $7 submissions an hour at
-- most. No row: the token is not valid. before: the state it was in, null when there is no such job; has_code: its exec_file is
-- there; too_many: the account has submitted as many as it may; after: its state now.
WITH caller AS (
  SELECT id FROM user_caller($1)
), found AS (
  SELECT j.id, j.state, j.price_micro, j.account_id,
         EXISTS (SELECT FROM job_file f WHERE f.job_id = j.id AND f.role = 'code' AND f.path = j.exec_file) AS has_code
  FROM caller c JOIN job j ON j.id = $2::uuid AND j.account_id = c.id
  FOR NO KEY UPDATE OF j
), tally AS (
  SELECT submissions_within(t.hour, t.submissions) >= $7::int AS too_many
  FROM found f JOIN account_tally t ON t.account_id = f.account_id FOR NO KEY UPDATE OF t
), submitted AS (
  UPDATE job SET state = 'queued', submitted_at = now(), rank = job_rank(now(), job.price_micro), request_id = $6::uuid
  FROM found f, tally t WHERE job.id = f.id AND f.state = 'uploading' AND f.has_code AND NOT t.too_many
  RETURNING job.id, job.account_id, job.price_micro, job.state
), escrow AS (
  INSERT INTO ledger_account (id, kind, job_id, holder_id)
  SELECT $3::uuid, 'escrow', s.id, u.id FROM submitted s JOIN ledger_account u ON u.account_id = s.account_id AND u.kind = 'user'
  WHERE s.price_micro > 0
  RETURNING id
), hold AS (
  INSERT INTO ledger_transfer (id, idempotency_key, reason, job_id)
  SELECT $4::uuid, 'hold:' || s.id, 'hold', s.id FROM submitted s, escrow
  RETURNING id
), entries AS (
  INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
  SELECT h.id, e.id, s.price_micro FROM hold h, escrow e, submitted s
  UNION ALL
  SELECT h.id, u.id, -s.price_micro
  FROM hold h, submitted s JOIN ledger_account u ON u.account_id = s.account_id AND u.kind = 'user'
), message AS (
  INSERT INTO outbox (message_id, routing_key, body, request_id)
  SELECT $5::uuid, 'jobs.ready', jsonb_build_object('jobs', jsonb_build_array(id)), $6::uuid FROM submitted
)
SELECT c.id AS caller, f.state AS before, f.has_code, t.too_many, s.state AS after
FROM caller c LEFT JOIN found f ON true LEFT JOIN tally t ON true LEFT JOIN submitted s ON true

-- name: job_progress
-- Parallel arrays $1 jobs, $2 attempts, $3 token hashes, $4 fractions, $5 messages. Only for current attempts; an attempt's
-- acceptance may be recorded after its progress.
WITH said AS (
  SELECT j.id, n.number, n.fraction, n.message
  FROM unnest($1::uuid[], $2::int[], $3::bytea[], $4::real[], $5::text[]) n (job_id, number, token_hash, fraction, message)
  JOIN attempt a ON a.job_id = n.job_id AND a.number = n.number AND a.token_hash = n.token_hash AND a.outcome IS NULL
  JOIN job j ON j.id = n.job_id AND j.attempt_number = n.number AND j.state IN ('assigned', 'running')
  ORDER BY j.id FOR NO KEY UPDATE OF j
)
UPDATE job j SET progress = s.fraction, progress_message = s.message, version = j.version + 1
FROM said s WHERE j.id = s.id AND j.attempt_number = s.number AND j.state IN ('assigned', 'running')

-- name: job_lock
-- $1 token hash, $2 job. Locks the job's row until the end of the transaction. No row: the token is not valid. before: its
-- state, null when there is no such job for this caller; others: it is not the caller's own.
WITH caller AS (
  SELECT id, role FROM user_caller($1)
), found AS (
  SELECT j.id, j.account_id, j.state, j.attempt_number FROM caller c
  JOIN job j ON j.id = $2::uuid AND (j.account_id = c.id OR c.role = 'admin')
  FOR NO KEY UPDATE OF j
)
SELECT c.id AS caller, f.state AS before, f.attempt_number, f.account_id <> c.id AS others FROM caller c LEFT JOIN found f ON true

-- name: job_end
-- Parallel arrays $1 jobs, $2 states, $3 failure codes and $4 details, or nothing, $5 ids for the transfers. Requires that their
-- attempts have ended in an earlier statement, and job_tallies_lock if several of them are uploading. Pays the job's escrow to
-- the machine that earned it and returns the rest to the owner, now or when its settlement is closed.
WITH named AS (
  SELECT * FROM unnest($1::uuid[], $2::job_state[], $3::text[], $4::text[], $5::uuid[])
    n (job_id, state, failure_code, failure_detail, transfer_id)
), ended AS (
  UPDATE job j
  SET state = n.state, ended_at = now(), failure_code = nullif(n.failure_code, ''), failure_detail = nullif(n.failure_detail, ''),
      progress = CASE WHEN n.state = 'completed' THEN 1 ELSE j.progress END
  FROM named n WHERE j.id = n.job_id
  RETURNING j.id, j.account_id, j.attempt_number, n.transfer_id
), released AS (
  -- Its checkpoints, which nobody may list or read any more; a worker deletes them.
  INSERT INTO storage_released (storage_id)
  SELECT s.id FROM ended j JOIN storage s ON s.job_id = j.id AND s.attempt_number IS NULL
  ON CONFLICT (storage_id) DO NOTHING
), due AS (
  SELECT j.transfer_id, j.id AS job_id, e.id AS escrow_id, e.balance_micro AS held, coalesce(a.paid_micro, 0) AS pay,
         owner.id AS owner_id, earner.id AS earner_id
  FROM ended j
  CROSS JOIN LATERAL (
    SELECT id, balance_micro FROM ledger_account WHERE job_id = j.id AND kind = 'escrow' AND balance_micro > 0 LIMIT 1) e
  JOIN ledger_account owner ON owner.account_id = j.account_id AND owner.kind = 'user'
  LEFT JOIN attempt a ON a.job_id = j.id AND a.number = j.attempt_number AND a.paid_micro > 0
  LEFT JOIN machine m ON m.id = a.machine_id
  LEFT JOIN ledger_account earner ON earner.account_id = m.account_id AND earner.kind = 'user'
  WHERE NOT EXISTS (SELECT FROM settlement s WHERE s.job_id = j.id)
), transfer AS (
  INSERT INTO ledger_transfer (id, idempotency_key, reason, job_id)
  SELECT transfer_id, 'settle:' || job_id, CASE WHEN pay > 0 THEN 'pay' ELSE 'release' END::ledger_reason, job_id FROM due
)
INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
SELECT transfer_id, escrow_id, -held FROM due
UNION ALL
SELECT transfer_id, owner_id, held - pay FROM due WHERE held > pay
UNION ALL
SELECT transfer_id, earner_id, pay FROM due WHERE pay > 0

-- name: job_requeue
-- $1 jobs, $2 the column that counts these attempts or '', $3 how many of them are too many, $4 seconds for which only machines
-- that can resume their newest usable checkpoints get them. Requires that their attempts have ended. A job with too many is not
-- requeued. sequence: of the checkpoint, 0 when there is none; the job has its progress now.
WITH newest AS (
  SELECT n.id AS of_job, c.* FROM unnest($1::uuid[]) n (id) LEFT JOIN LATERAL (
    SELECT k.sequence, k.r_version, k.architecture, k.packages, k.progress AS reached, k.progress_message AS said
    FROM checkpoint k WHERE k.job_id = n.id AND k.unusable_because IS NULL ORDER BY k.sequence DESC LIMIT 1) c ON true
)
UPDATE job SET state = 'queued', progress = reached, progress_message = said,
               losses = losses + ($2::text = 'losses')::int, hand_backs = hand_backs + ($2::text = 'hand_backs')::int,
               resume_r = r_version, resume_architecture = architecture, resume_packages = packages,
               resume_until = CASE WHEN sequence IS NOT NULL THEN now() + make_interval(secs => $4::int) END
FROM newest
WHERE id = of_job
  AND CASE $2::text WHEN '' THEN true WHEN 'losses' THEN losses + 1 < $3::int WHEN 'hand_backs' THEN hand_backs + 1 < $3::int END
RETURNING id, coalesce(sequence, 0) AS sequence

-- name: job_checkpoint_note
-- $1 job, $2 interval in ms, $3 why there is no checkpoint, or null. Requires that the caller's attempt is current.
UPDATE job SET checkpoint_interval_ms = $2::bigint, checkpoint_problem = $3 WHERE id = $1::uuid

-- name: job_delete_lock
-- $1 token hash, $2 job of the caller's own. Locks its row FOR UPDATE. No row: the token is not valid. before: its state, null
-- when there is no such job.
WITH caller AS (
  SELECT id FROM user_caller($1)
), found AS (
  SELECT j.id, j.state FROM caller c JOIN job j ON j.id = $2::uuid AND j.account_id = c.id FOR UPDATE OF j
)
SELECT c.id AS caller, f.state AS before FROM caller c LEFT JOIN found f ON true

-- name: jobs_delete
-- $1 jobs that have ended or were never submitted; they go with their files, and the ledger keeps its entries. Requires that
-- their rows are held FOR UPDATE, job_tallies_lock and job_storages_lock: what a job has goes in the order of its foreign keys.
DELETE FROM job WHERE id = ANY($1::uuid[])

-- name: job_versions
-- $1 jobs. Those that are gone have no row.
SELECT id, version FROM job WHERE id = ANY($1::uuid[])

-- name: job_abandoned
-- $1 seconds, $2 at most so many. Jobs that were never submitted and have had no new file for so long, held as by
-- job_delete_lock.
SELECT j.id FROM job j
WHERE j.state = 'uploading' AND j.created_at < now() - make_interval(secs => $1::int)
  AND NOT EXISTS (SELECT FROM job_file f WHERE f.job_id = j.id AND f.created_at > now() - make_interval(secs => $1::int))
ORDER BY j.created_at LIMIT $2::int FOR UPDATE SKIP LOCKED

-- name: job_expired
-- $1 at most so many. Jobs whose deadline has passed.
SELECT id, attempt_number, state FROM job
WHERE deadline < now() AND state IN ('uploading', 'queued', 'assigned', 'running')
ORDER BY deadline LIMIT $1::int FOR NO KEY UPDATE SKIP LOCKED

-- name: job_of_disabled
-- $1 at most so many. Jobs of disabled accounts that have not ended.
SELECT j.id, j.attempt_number, j.state FROM account a JOIN job j ON j.account_id = a.id
WHERE a.ending AND a.disabled_at IS NOT NULL AND j.state IN ('uploading', 'queued', 'assigned', 'running')
ORDER BY j.id LIMIT $1::int FOR NO KEY UPDATE OF j SKIP LOCKED
