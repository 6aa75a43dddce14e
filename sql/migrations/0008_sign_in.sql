-- Who speaks, in one place; and what keeps strangers from trying passwords or making accounts without end.

-- Inlined by the planner: FROM user_caller($1) is as fast as the joins written out.
CREATE FUNCTION user_caller(token bytea) RETURNS TABLE (id uuid, role account_role)
LANGUAGE sql STABLE AS $$
  SELECT a.id, a.role FROM session_token t JOIN account a ON a.id = t.account_id
  WHERE t.token_hash = token AND t.machine_id IS NULL AND t.expires_at > now() AND a.disabled_at IS NULL
$$;

ALTER TABLE account ADD COLUMN registered_from inet;
CREATE INDEX account_by_registration ON account (registered_from, created_at) WHERE registered_from IS NOT NULL;

-- An invitation makes one account. Only the SHA-256 of its code is kept.
CREATE TABLE invitation (
  code_hash  bytea PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_by    uuid,
  CONSTRAINT invitation_hash_is_sha256 CHECK (octet_length(code_hash) = 32)
);

-- Log-ins that failed, for as long as they count.
CREATE TABLE login_failure (
  at      timestamptz NOT NULL DEFAULT now(),
  email   text NOT NULL,
  address inet NOT NULL
);

CREATE INDEX login_failure_by_email ON login_failure (email, at);
CREATE INDEX login_failure_by_address ON login_failure (address, at);
CREATE INDEX login_failure_by_time ON login_failure (at);
