-- Invitations to register.

-- name: invitation_create
-- $1 code hash, $2 lifetime in seconds
INSERT INTO invitation (code_hash, expires_at) VALUES ($1, now() + make_interval(secs => $2::int))
RETURNING utc_text(expires_at) AS expires_at
