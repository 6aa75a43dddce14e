-- Operations of admins. $1 is always the caller's token hash; no row: the token is not valid. Every statement returns "admin"
-- first, and reads and changes nothing unless it is true.

-- name: admin_users
-- $2 page (1 …), $3 rows a page; newest first, one row more than a page if there is one
SELECT c.role = 'admin' AS admin, a.* FROM user_caller($1) c LEFT JOIN LATERAL (
  SELECT a.id, a.email, a.role, utc_text(a.created_at) AS created_at, utc_text(a.disabled_at) AS disabled_at,
         l.balance_micro
  FROM account a JOIN ledger_account l ON l.account_id = a.id AND l.kind = 'user'
  WHERE c.role = 'admin' ORDER BY a.id DESC LIMIT $3::int + 1 OFFSET ($2::int - 1) * $3::int
) a ON true

-- name: admin_set_disabled
-- $2 account, $3 disabled or not. A disabled account's tokens end, those of its machines too; workers end its jobs.
-- machine_sessions_evict evicts its machines in the same transaction.
WITH caller AS (
  SELECT role = 'admin' AS admin FROM user_caller($1)
), changed AS (
  UPDATE account SET disabled_at = CASE WHEN $3::boolean THEN coalesce(disabled_at, now()) END, ending = $3::boolean
  WHERE id = $2::uuid AND (SELECT admin FROM caller)
  RETURNING id
), ended AS (
  DELETE FROM login_token t USING changed c WHERE $3::boolean AND t.account_id = c.id
)
SELECT admin, EXISTS (SELECT FROM changed) AS found FROM caller

-- name: admin_grant
-- $2 account, $3 micro-credits, $4 transfer id, $5 idempotency key. granted: it was done now; before: under this key it was
-- done before.
WITH caller AS (
  SELECT role = 'admin' AS admin FROM user_caller($1)
), purse AS (
  SELECT id FROM ledger_account WHERE account_id = $2::uuid AND kind = 'user' AND (SELECT admin FROM caller)
), transfer AS (
  INSERT INTO ledger_transfer (id, idempotency_key, reason) SELECT $4::uuid, 'admin:' || $5::text, 'grant' FROM purse
  ON CONFLICT (idempotency_key) DO NOTHING
  RETURNING id
), entries AS (
  INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
  SELECT t.id, p.id, $3::bigint FROM transfer t, purse p
  UNION ALL
  SELECT t.id, m.id, -$3::bigint FROM transfer t, ledger_account m WHERE m.kind = 'mint'
)
SELECT c.admin, EXISTS (SELECT FROM purse) AS found, EXISTS (SELECT FROM transfer) AS granted,
       EXISTS (SELECT FROM ledger_transfer t JOIN ledger_entry e ON e.transfer_id = t.id JOIN purse p ON p.id = e.ledger_account_id
               WHERE t.idempotency_key = 'admin:' || $5::text AND e.amount_micro = $3::bigint) AS before
FROM caller c

-- name: admin_jobs
-- $2 state or null, $3 page (1 …), $4 rows a page; newest first, one row more than a page if there is one
SELECT c.role = 'admin' AS admin, j.* FROM user_caller($1) c LEFT JOIN LATERAL (
  SELECT * FROM job_listed WHERE c.role = 'admin' AND ($2::job_state IS NULL OR state = $2::job_state)
  ORDER BY id DESC LIMIT $4::int + 1 OFFSET ($3::int - 1) * $4::int
) j ON true

-- name: admin_machines
-- $2 page (1 …), $3 rows a page; newest first, one row more than a page if there is one
SELECT c.role = 'admin' AS admin, m.* FROM user_caller($1) c LEFT JOIN LATERAL (
  SELECT * FROM machine_shown WHERE c.role = 'admin'
  ORDER BY id DESC LIMIT $3::int + 1 OFFSET ($2::int - 1) * $3::int
) m ON true

-- name: admin_set_ban
-- $2 machine, $3 the reason, or null to end its ban. A banned machine's tokens end. machine_sessions_evict ends its session.
WITH caller AS (
  SELECT role = 'admin' AS admin FROM user_caller($1)
), changed AS (
  UPDATE machine SET banned_at = CASE WHEN $3::text IS NOT NULL THEN coalesce(banned_at, now()) END, ban_reason = $3::text
  WHERE id = $2::uuid AND removed_at IS NULL AND (SELECT admin FROM caller)
  RETURNING id
), ended AS (
  DELETE FROM login_token t USING changed c WHERE $3::text IS NOT NULL AND t.machine_id = c.id
)
SELECT admin, EXISTS (SELECT FROM changed) AS found FROM caller

-- name: admin_remove_machine
-- $2 machine. Of another account: machine_remove is for the owner. machine_sessions_evict ends its session. No row: nothing
-- was removed.
WITH caller AS (
  SELECT id FROM user_caller($1) WHERE role = 'admin'
), removed AS (
  UPDATE machine m SET removed_at = now() FROM caller c
  WHERE m.id = $2::uuid AND m.account_id <> c.id AND m.removed_at IS NULL
  RETURNING m.id, c.id AS caller
), ended AS (
  DELETE FROM login_token t USING removed r WHERE t.machine_id = r.id
)
SELECT caller FROM removed

-- name: admin_set_quota
-- $2 account, $3 bytes. Not below what is used: those are the constraints storage_is_never_over_quota and
-- checkpoints_are_within_quota.
WITH caller AS (
  SELECT role = 'admin' AS admin FROM user_caller($1)
), changed AS (
  UPDATE storage SET quota_bytes = $3::bigint WHERE account_id = $2::uuid AND (SELECT admin FROM caller)
  RETURNING id
)
SELECT admin, EXISTS (SELECT FROM changed) AS found FROM caller

-- name: admin_is
SELECT id, role = 'admin' AS admin FROM user_caller($1)

-- name: admin_make
-- $1 account: only the command line may do this
UPDATE account SET role = 'admin' WHERE id = $1::uuid
