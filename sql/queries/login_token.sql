-- name: login_token_create
-- $1 token hash, $2 account, $3 lifetime in seconds, $4 tokens that an account may have: the oldest end.
WITH ended AS (
  DELETE FROM login_token WHERE token_hash IN (
    SELECT token_hash FROM login_token WHERE account_id = $2::uuid AND machine_id IS NULL
    ORDER BY created_at DESC, token_hash OFFSET $4::int - 1)
)
INSERT INTO login_token (token_hash, account_id, expires_at)
SELECT $1, id, now() + make_interval(secs => $3::int) FROM account WHERE id = $2::uuid AND disabled_at IS NULL
RETURNING utc_text(expires_at) AS expires_at

-- name: login_token_end
-- $1 token hash of a user's login. No row: it was not valid.
DELETE FROM login_token t USING user_caller($1) c
WHERE t.token_hash = $1 AND t.account_id = c.id
RETURNING 1

-- name: login_token_delete_expired
-- $1 at most so many. Deletes tokens that expired more than a day ago.
DELETE FROM login_token WHERE token_hash = ANY(ARRAY(
  SELECT token_hash FROM login_token WHERE expires_at < now() - interval '1 day' LIMIT $1::int FOR UPDATE SKIP LOCKED))
