-- Stopping abuse: banned machines, accounts that are disabled with all they have, limits that are counted before any work is
-- done, and a log of who did what.

-- Banned machines. Their owners see the reason; only an admin ends a ban.
ALTER TABLE machine
  ADD COLUMN banned_at timestamptz,
  ADD COLUMN ban_reason text,
  ADD CONSTRAINT machine_ban_has_a_reason CHECK ((banned_at IS NULL) = (ban_reason IS NULL)),
  ADD CONSTRAINT machine_ban_reason_fits CHECK (octet_length(ban_reason) BETWEEN 1 AND 200);

CREATE OR REPLACE FUNCTION machine_caller(token bytea) RETURNS TABLE (id uuid, account_id uuid)
LANGUAGE sql STABLE AS $$
  SELECT m.id, m.account_id
  FROM session_token t JOIN machine m ON m.id = t.machine_id JOIN account a ON a.id = m.account_id
  WHERE t.token_hash = token AND t.expires_at > now() AND m.removed_at IS NULL AND m.banned_at IS NULL AND a.disabled_at IS NULL
$$;

CREATE OR REPLACE VIEW machine_shown AS
SELECT m.id, m.account_id, m.name, m.cpu_cores, m.ram_mb, m.disc_mb, m.price_micro_per_cpu_second,
       utc_text(m.created_at) AS created_at, utc_text(s.seen_at) AS seen_at,
       CASE WHEN m.banned_at IS NOT NULL THEN 'banned'
            WHEN s.id IS NULL THEN 'offline'
            WHEN EXISTS (SELECT FROM attempt a WHERE a.session_id = s.id AND a.ended_at IS NULL) THEN 'busy'
            WHEN s.taking_jobs THEN 'idle'
            ELSE 'paused' END AS state,
       m.ban_reason
FROM machine m LEFT JOIN machine_session s ON s.machine_id = m.id AND s.ended_at IS NULL
WHERE m.removed_at IS NULL;

-- A session whose machine was banned or removed by an admin, or whose owner was disabled. It is given no job; a worker hands
-- its jobs to other machines and ends it.
ALTER TABLE machine_session ADD COLUMN barred boolean NOT NULL DEFAULT false;
CREATE INDEX machine_session_barred ON machine_session (id) WHERE barred AND ended_at IS NULL;

-- A disabled account whose jobs a worker has still to end. They are many, or one was being submitted at that moment, so it is
-- not done in the transaction that disables the account.
ALTER TABLE account ADD COLUMN ending boolean NOT NULL DEFAULT false;
UPDATE account SET ending = true WHERE disabled_at IS NOT NULL;
CREATE INDEX account_ending ON account (id) WHERE ending;

-- How often something was tried, by its name: "login:address:192.0.2.1". A row counts until ends_at and then begins anew. Its
-- row lock makes counting and comparing one step.
CREATE TABLE rate_counter (
  name    text PRIMARY KEY,
  count   integer NOT NULL,
  most    integer NOT NULL, -- the limit by which it was last counted
  ends_at timestamptz NOT NULL,
  CONSTRAINT rate_counter_is_within_its_limit CHECK (count BETWEEN 0 AND most)
) WITH (fillfactor = 70);
CREATE INDEX rate_counter_by_end ON rate_counter (ends_at);

-- From where an account has logged in; an IPv6 address as its /64. Failed log-ins from elsewhere do not close these to it.
CREATE TABLE login_origin (
  account_id uuid NOT NULL REFERENCES account,
  address    inet NOT NULL,
  at         timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, address)
);
CREATE INDEX login_origin_by_time ON login_origin (at);

-- Both are rate_counter's now.
DROP TABLE login_failure;
DROP INDEX account_by_registration;

-- Who did what, from where. Failed log-ins are one row for an address, an e-mail and a minute, with their number; refused
-- ones one for an address and a minute: strangers must not write without end.
CREATE TABLE audit_event (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         timestamptz NOT NULL DEFAULT now(),
  action     text NOT NULL,
  account_id uuid,            -- who did it; none: nobody who is known, or the command line
  address    inet,            -- as the market saw it; none: the command line
  subject    text,            -- of what: an account's, machine's or job's id, or an e-mail
  detail     jsonb NOT NULL DEFAULT '{}',
  request_id uuid,
  count      integer NOT NULL DEFAULT 1,
  CONSTRAINT audit_event_detail_fits CHECK (octet_length(detail::text) <= 4096)
);
CREATE INDEX audit_event_by_time ON audit_event (at);
CREATE INDEX audit_event_of_account ON audit_event (account_id, id) WHERE account_id IS NOT NULL;
CREATE INDEX audit_event_of_subject ON audit_event (subject, id) WHERE subject IS NOT NULL;
CREATE INDEX audit_event_of_address ON audit_event (address, id) WHERE address IS NOT NULL;
CREATE UNIQUE INDEX audit_event_failures_are_put_together
  ON audit_event (date_trunc('minute', at AT TIME ZONE 'UTC'), action, address, coalesce(subject, ''))
  WHERE action IN ('login_failed', 'login_refused', 'register_refused');

-- When a machine's token was last renewed over its socket: at most one in a while.
ALTER TABLE machine ADD COLUMN token_renewed_at timestamptz;
