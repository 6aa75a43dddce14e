-- name: session_token_create
-- $1 token hash, $2 account, $3 lifetime in seconds
INSERT INTO session_token (token_hash, account_id, expires_at)
SELECT $1, id, now() + make_interval(secs => $3::int) FROM account WHERE id = $2::uuid AND disabled_at IS NULL
RETURNING utc_text(expires_at) AS expires_at
