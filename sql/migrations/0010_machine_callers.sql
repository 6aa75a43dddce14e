-- Machines as callers. Like user_caller, these are inlined by the planner.

CREATE FUNCTION machine_caller(token bytea) RETURNS TABLE (id uuid, account_id uuid)
LANGUAGE sql STABLE AS $$
  SELECT m.id, m.account_id
  FROM session_token t JOIN machine m ON m.id = t.machine_id JOIN account a ON a.id = m.account_id
  WHERE t.token_hash = token AND t.expires_at > now() AND m.removed_at IS NULL AND a.disabled_at IS NULL
$$;

-- A machine that names one of its attempts. No row: the machine's token is not valid. current is false for an attempt that
-- has ended, is not this machine's, or whose own token is another.
CREATE FUNCTION attempt_caller(token bytea, job uuid, attempt integer, attempt_token bytea)
RETURNS TABLE (machine_id uuid, current boolean)
LANGUAGE sql STABLE AS $$
  SELECT m.id, EXISTS (
           SELECT FROM attempt a JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number
           WHERE a.job_id = job AND a.number = attempt AND a.machine_id = m.id AND a.token_hash = attempt_token
             AND a.ended_at IS NULL)
  FROM machine_caller(token) m
$$;

CREATE INDEX machine_of_account ON machine (account_id, id DESC);
CREATE INDEX attempt_live_of_machine ON attempt (machine_id) WHERE ended_at IS NULL;
CREATE INDEX session_token_of_machine ON session_token (machine_id) WHERE machine_id IS NOT NULL;

ALTER TABLE machine
  -- By which its peers will recognise it; the market signs that it belongs to this machine.
  ADD COLUMN public_key bytea,
  ADD CONSTRAINT machine_public_key_is_ed25519 CHECK (octet_length(public_key) = 32);

-- A machine as people see it: offline, idle, busy or paused.
CREATE VIEW machine_shown AS
SELECT m.id, m.account_id, m.name, m.cpu_cores, m.ram_mb, m.disc_mb, m.price_micro_per_cpu_second,
       utc_text(m.created_at) AS created_at, utc_text(s.seen_at) AS seen_at,
       CASE WHEN s.id IS NULL THEN 'offline'
            WHEN EXISTS (SELECT FROM attempt a WHERE a.session_id = s.id AND a.ended_at IS NULL) THEN 'busy'
            WHEN s.taking_jobs THEN 'idle'
            ELSE 'paused' END AS state
FROM machine m LEFT JOIN machine_session s ON s.machine_id = m.id AND s.ended_at IS NULL
WHERE m.removed_at IS NULL;
