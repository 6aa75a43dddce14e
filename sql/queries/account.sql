-- name: account_create
-- $1 id, $2 e-mail, $3 password hash, $4 ledger account id, $5 transfer id, $6 grant in micro-credits,
-- $7 address or null, $8 hash of an invitation, or null when none is needed.
-- One row: account (null when it was not made), invited.
WITH asked AS (
  SELECT $8::bytea IS NULL OR EXISTS (
           SELECT FROM invitation WHERE code_hash = $8::bytea AND used_by IS NULL AND expires_at > now()) AS invited
), invited AS (
  UPDATE invitation SET used_by = $1::uuid
  WHERE code_hash = $8::bytea AND used_by IS NULL AND expires_at > now()
    AND NOT EXISTS (SELECT FROM account WHERE lower(email) = lower($2))
  RETURNING code_hash
), created AS (
  INSERT INTO account (id, email, password_hash, registered_from)
  SELECT $1::uuid, $2, $3, $7::inet WHERE $8::bytea IS NULL OR EXISTS (SELECT FROM invited)
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
SELECT (SELECT id FROM created) AS account, invited FROM asked

-- name: registration_check
-- $1 e-mail, $2 hash of an invitation or null. Whether the e-mail is taken, and whether the invitation is valid.
SELECT EXISTS (SELECT FROM account WHERE lower(email) = lower($1)) AS taken,
       $2::bytea IS NULL OR EXISTS (
         SELECT FROM invitation WHERE code_hash = $2::bytea AND used_by IS NULL AND expires_at > now()) AS invited

-- name: account_by_email
SELECT id, email, password_hash FROM account WHERE lower(email) = lower($1) AND disabled_at IS NULL

-- name: account_view
-- $1 token hash
SELECT a.id, a.email, a.role, utc_text(a.created_at) AS created_at,
       l.balance_micro, l.held_micro, s.used_bytes, s.quota_bytes
FROM user_caller($1) c
JOIN account a ON a.id = c.id
JOIN storage s ON s.account_id = a.id
JOIN ledger_account l ON l.account_id = a.id AND l.kind = 'user'

-- name: account_credentials_of_token
-- $1 token hash
SELECT a.id, a.email, a.password_hash FROM user_caller($1) c JOIN account a ON a.id = c.id

-- name: account_change_password
-- $1 token hash, $2 the old hash that was verified, $3 the new one. Ends every other login of the account. No row: the
-- password was changed meanwhile, or the token has ended.
WITH changed AS (
  UPDATE account SET password_hash = $3
  WHERE id = (SELECT id FROM user_caller($1)) AND password_hash = $2
  RETURNING id
), ended AS (
  DELETE FROM login_token t USING changed c
  WHERE t.account_id = c.id AND t.machine_id IS NULL AND t.token_hash <> $1
  RETURNING 1
)
SELECT (SELECT count(*) FROM ended) AS logins_ended FROM changed

-- name: account_set_password
-- $1 e-mail, $2 hash of the new password. Ends every login of the account. No row: there is no such account.
WITH changed AS (
  UPDATE account SET password_hash = $2 WHERE lower(email) = lower($1) RETURNING id
), ended AS (
  DELETE FROM login_token t USING changed c WHERE t.account_id = c.id AND t.machine_id IS NULL
)
SELECT id FROM changed

-- name: account_ended
-- Accounts that were disabled a minute ago and have no job left: by then everything that had begun before has ended.
WITH due AS (
  SELECT a.id FROM account a WHERE a.ending AND a.disabled_at < now() - interval '1 minute'
    AND NOT EXISTS (SELECT FROM job j WHERE j.account_id = a.id AND j.state IN ('uploading', 'queued', 'assigned', 'running'))
  FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE account a SET ending = false FROM due d WHERE a.id = d.id
