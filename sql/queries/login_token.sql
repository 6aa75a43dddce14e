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

-- name: machine_token_end_older
-- $1 machine, $2 hash of its token. The first use of a renewed token ends the older ones.
DELETE FROM login_token t USING login_token used
WHERE t.machine_id = $1::uuid AND used.token_hash = $2 AND t.created_at < used.created_at

-- name: machine_token_renew
-- $1 machine, $2 hash of its new token, $3 lifetime in seconds, $4 seconds: from one renewal to the next at least, $5 hash of
-- the token with which it asks. That one stays valid until the new one is used, because the answer may be lost; all others
-- end. No row: the machine was removed. expires_at is null: it was renewed just now.
WITH found AS (
  SELECT m.id, m.account_id, coalesce(m.token_renewed_at > now() - make_interval(secs => $4::int), false) AS too_soon
  FROM machine m JOIN account a ON a.id = m.account_id
  WHERE m.id = $1::uuid AND m.removed_at IS NULL AND m.banned_at IS NULL AND a.disabled_at IS NULL
  FOR NO KEY UPDATE OF m
), renewed AS (
  UPDATE machine m SET token_renewed_at = now() FROM found f WHERE m.id = f.id AND NOT f.too_soon RETURNING m.id, m.account_id
), ended AS (
  DELETE FROM login_token t USING renewed r WHERE t.machine_id = r.id AND t.token_hash <> $5::bytea
), fresh AS (
  INSERT INTO login_token (token_hash, account_id, machine_id, expires_at)
  SELECT $2::bytea, account_id, id, now() + make_interval(secs => $3::int) FROM renewed
  RETURNING expires_at
)
SELECT (SELECT utc_text(expires_at) FROM fresh) AS expires_at FROM found
