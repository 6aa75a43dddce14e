-- name: job_create
-- Everything that submitting a small job does: the caller's right, the job, its code, its escrow and the message
-- to the workers, in one statement and so in one transaction and one round trip.
--   $1 token hash   $2 job id   $3 name   $4 exec_file   $5 cpu_cores   $6 ram_mb   $7 disc_mb   $8 price_micro
--   $9 deadline, seconds from now or null   $10 watched variables   $11 idempotency key or null
--   $12 sha256 of the request or null   $13 code or null   $14 submit   $15 escrow ledger account id
--   $16 transfer id   $17 message id   $18 request id
-- No row: the token is not valid. A row without an id: this idempotency key was used before.
WITH caller AS (
  SELECT id FROM user_caller($1)
), created AS (
  INSERT INTO job (id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, price_micro, deadline,
                   watched_variables, idempotency_key, request_sha256, submitted_at)
  SELECT $2::uuid, c.id, $3, $4, CASE WHEN $14::boolean THEN 'queued' ELSE 'uploading' END::job_state,
         $5::int, $6::int, $7::int, $8::bigint, now() + make_interval(secs => $9::int),
         $10::text[], $11, $12::bytea, CASE WHEN $14::boolean THEN now() END
  FROM caller c
  ON CONFLICT (account_id, idempotency_key) DO NOTHING
  RETURNING *
), code AS (
  INSERT INTO job_file (job_id, role, path, size_bytes, inline_bytes)
  SELECT id, 'code', exec_file, octet_length($13::bytea), $13::bytea FROM created WHERE $13::bytea IS NOT NULL
), escrow AS (
  INSERT INTO ledger_account (id, kind, job_id)
  SELECT $15::uuid, 'escrow', id FROM created WHERE state = 'queued' AND price_micro > 0
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
  SELECT $17::uuid, 'jobs.ready', jsonb_build_object('job', id), $18::uuid FROM created WHERE state = 'queued'
)
SELECT c.id AS caller, j.id, j.name, j.exec_file, j.state, j.cpu_cores, j.ram_mb, j.disc_mb, j.price_micro,
       utc_text(j.deadline) AS deadline, j.watched_variables, utc_text(j.created_at) AS created_at,
       utc_text(j.submitted_at) AS submitted_at, utc_text(j.ended_at) AS ended_at, j.attempt_number,
       j.failure_code, j.failure_detail
FROM caller c LEFT JOIN created j ON true

-- name: job_by_idempotency_key
-- What an earlier request with this key made. $1 account, $2 key
SELECT id, request_sha256 FROM job WHERE account_id = $1::uuid AND idempotency_key = $2

-- name: job_view
-- $1 token hash, $2 job. No row: the token is not valid. A row without an id: no such job for this caller.
SELECT c.id AS caller, j.id, j.name, j.exec_file, j.state, j.cpu_cores, j.ram_mb, j.disc_mb, j.price_micro,
       utc_text(j.deadline) AS deadline, j.watched_variables, utc_text(j.created_at) AS created_at,
       utc_text(j.submitted_at) AS submitted_at, utc_text(j.ended_at) AS ended_at, j.attempt_number,
       j.failure_code, j.failure_detail
FROM user_caller($1) c
LEFT JOIN job j ON j.id = $2::uuid AND (j.account_id = c.id OR c.role = 'admin')
