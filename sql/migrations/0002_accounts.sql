-- Who may call the market: accounts, and the tokens that speak for them and for their machines.

CREATE TYPE account_role AS ENUM ('user', 'admin');

CREATE TABLE account (
  id            uuid PRIMARY KEY,
  email         text NOT NULL,
  password_hash text NOT NULL,
  role          account_role NOT NULL DEFAULT 'user',
  created_at    timestamptz NOT NULL DEFAULT now(),
  disabled_at   timestamptz,
  CONSTRAINT account_email_fits CHECK (octet_length(email) BETWEEN 3 AND 254)
);

-- Two spellings of one address are one account.
CREATE UNIQUE INDEX account_email_is_unique ON account (lower(email));

CREATE TABLE machine (
  id                         uuid PRIMARY KEY,
  account_id                 uuid NOT NULL REFERENCES account,
  name                       text NOT NULL,
  cpu_cores                  integer NOT NULL,
  ram_mb                     integer NOT NULL,
  disc_mb                    integer NOT NULL,
  price_micro_per_cpu_second bigint NOT NULL,
  created_at                 timestamptz NOT NULL DEFAULT now(),
  removed_at                 timestamptz,
  CONSTRAINT machine_name_fits CHECK (octet_length(name) BETWEEN 1 AND 200),
  CONSTRAINT machine_has_something_to_lend CHECK (cpu_cores > 0 AND ram_mb > 0 AND disc_mb > 0),
  CONSTRAINT machine_price_is_not_negative CHECK (price_micro_per_cpu_second >= 0)
);

CREATE UNIQUE INDEX machine_name_is_unique_for_its_owner ON machine (account_id, name) WHERE removed_at IS NULL;

-- Only the SHA-256 of a token is kept. With a machine_id it speaks for that machine, else for the account.
CREATE TABLE session_token (
  token_hash bytea PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  machine_id uuid REFERENCES machine,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  CONSTRAINT session_token_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
  CONSTRAINT session_token_expires_later CHECK (expires_at > created_at)
);

CREATE INDEX session_token_of_account ON session_token (account_id);
CREATE INDEX session_token_by_expiry ON session_token (expires_at);

-- A machine's presence. The lease of everything it runs is seen_at plus the lease time; what it has free is
-- what the worker takes from, row by row, under lock.
CREATE TABLE machine_session (
  id             uuid PRIMARY KEY,
  machine_id     uuid NOT NULL REFERENCES machine,
  market_id      uuid NOT NULL,
  taking_jobs    boolean NOT NULL DEFAULT true,
  cpu_cores_free integer NOT NULL,
  ram_mb_free    integer NOT NULL,
  disc_mb_free   integer NOT NULL,
  started_at     timestamptz NOT NULL DEFAULT now(),
  seen_at        timestamptz NOT NULL DEFAULT now(),
  ended_at       timestamptz,
  CONSTRAINT machine_session_is_never_over_capacity
    CHECK (cpu_cores_free >= 0 AND ram_mb_free >= 0 AND disc_mb_free >= 0)
);

CREATE UNIQUE INDEX machine_session_is_one_at_a_time ON machine_session (machine_id) WHERE ended_at IS NULL;
CREATE INDEX machine_session_by_seen ON machine_session (seen_at) WHERE ended_at IS NULL;
