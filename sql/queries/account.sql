-- name: account_create
-- $1 id, $2 e-mail, $3 password hash, $4 ledger account id, $5 transfer id, $6 grant in micro-credits.
-- No row: an account with this e-mail exists.
WITH created AS (
  INSERT INTO account (id, email, password_hash) VALUES ($1::uuid, $2, $3)
  ON CONFLICT (lower(email)) DO NOTHING
  RETURNING id
), purse AS (
  INSERT INTO ledger_account (id, kind, account_id) SELECT $4::uuid, 'user', id FROM created
  RETURNING id
), grant_transfer AS (
  INSERT INTO ledger_transfer (id, idempotency_key, reason)
  SELECT $5::uuid, 'grant:' || id, 'grant' FROM created WHERE $6::bigint > 0
  RETURNING id
), entries AS (
  INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
  SELECT t.id, p.id, $6::bigint FROM grant_transfer t, purse p
  UNION ALL
  SELECT t.id, m.id, -$6::bigint FROM grant_transfer t, ledger_account m WHERE m.kind = 'mint'
)
SELECT id FROM created

-- name: account_by_email
SELECT id, password_hash FROM account WHERE lower(email) = lower($1) AND disabled_at IS NULL
