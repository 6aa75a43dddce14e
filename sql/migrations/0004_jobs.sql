-- Jobs, their files, their attempts and what the attempts send back.

CREATE TYPE job_state AS ENUM
  ('uploading', 'queued', 'assigned', 'running', 'completed', 'failed', 'cancelled', 'expired');

CREATE TABLE job (
  id                uuid PRIMARY KEY,
  account_id        uuid NOT NULL REFERENCES account,
  name              text NOT NULL,
  exec_file         text NOT NULL,
  state             job_state NOT NULL DEFAULT 'uploading',
  cpu_cores         integer NOT NULL,
  ram_mb            integer NOT NULL,
  disc_mb           integer NOT NULL,
  price_micro       bigint NOT NULL,
  deadline          timestamptz,
  watched_variables text[] NOT NULL DEFAULT '{}',
  idempotency_key   text,
  request_sha256    bytea,
  attempt_number    integer NOT NULL DEFAULT 0,
  losses_in_a_row   integer NOT NULL DEFAULT 0,
  failure_code      text,
  failure_detail    text,
  created_at        timestamptz NOT NULL DEFAULT now(),
  submitted_at      timestamptz,
  ended_at          timestamptz,
  -- When the job was last put in front of a worker; the sweep looks for queued jobs that nobody touched.
  touched_at        timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT job_name_fits CHECK (octet_length(name) BETWEEN 1 AND 200),
  CONSTRAINT job_needs_are_positive CHECK (cpu_cores > 0 AND ram_mb > 0 AND disc_mb > 0),
  CONSTRAINT job_price_is_an_amount CHECK (price_micro BETWEEN 0 AND 1000000000000000),
  CONSTRAINT job_watches_a_bounded_number CHECK (cardinality(watched_variables) <= 64),
  CONSTRAINT job_losses_are_bounded CHECK (losses_in_a_row BETWEEN 0 AND 5),
  CONSTRAINT job_that_left_uploading_was_submitted
    CHECK (submitted_at IS NOT NULL OR state IN ('uploading', 'cancelled', 'expired')),
  CONSTRAINT job_that_ended_has_an_end
    CHECK ((state IN ('completed', 'failed', 'cancelled', 'expired')) = (ended_at IS NOT NULL)),
  CONSTRAINT job_that_failed_has_a_reason CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
  CONSTRAINT job_key_has_its_request CHECK ((idempotency_key IS NULL) = (request_sha256 IS NULL))
);

CREATE UNIQUE INDEX job_idempotency_key_is_unique ON job (account_id, idempotency_key);
CREATE INDEX job_of_account ON job (account_id, id DESC);
-- The waiting room: the best job first.
CREATE INDEX job_waiting ON job (price_micro DESC, submitted_at, id) WHERE state = 'queued';
CREATE INDEX job_untouched ON job (touched_at) WHERE state = 'queued';
CREATE INDEX job_by_deadline ON job (deadline)
  WHERE deadline IS NOT NULL AND state IN ('uploading', 'queued', 'assigned', 'running');

-- The state machine of docs/states.md. Nothing in any program can move a job along an edge that is not here.
CREATE FUNCTION job_state_may_move(before job_state, after job_state) RETURNS boolean
LANGUAGE sql IMMUTABLE RETURN
  CASE before
    WHEN 'uploading' THEN after IN ('queued', 'cancelled', 'expired')
    WHEN 'queued'    THEN after IN ('assigned', 'cancelled', 'expired')
    WHEN 'assigned'  THEN after IN ('queued', 'running', 'failed', 'cancelled', 'expired')
    WHEN 'running'   THEN after IN ('queued', 'completed', 'failed', 'cancelled', 'expired')
    ELSE false
  END;

CREATE FUNCTION job_state_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT job_state_may_move(OLD.state, NEW.state) THEN
    RAISE EXCEPTION 'a job may not move from % to %', OLD.state, NEW.state
      USING ERRCODE = 'check_violation', CONSTRAINT = 'job_state_moves', TABLE = 'job';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER job_state_moves BEFORE UPDATE OF state ON job
  FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION job_state_check();

CREATE TYPE job_file_role AS ENUM ('code', 'data', 'output', 'made', 'log');

-- A file is either its bytes (small ones that came inline, in the job's own transaction) or a list of chunks.
CREATE TABLE job_file (
  job_id       uuid NOT NULL REFERENCES job ON DELETE CASCADE,
  role         job_file_role NOT NULL,
  path         text NOT NULL,
  size_bytes   bigint NOT NULL,
  inline_bytes bytea,
  created_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (job_id, role, path),
  CONSTRAINT job_file_path_fits CHECK (octet_length(path) BETWEEN 1 AND 255),
  CONSTRAINT job_file_size_is_true
    CHECK (size_bytes >= 0 AND (inline_bytes IS NULL OR octet_length(inline_bytes) = size_bytes))
);

CREATE TABLE job_file_chunk (
  job_id   uuid NOT NULL,
  role     job_file_role NOT NULL,
  path     text NOT NULL,
  position integer NOT NULL,
  sha256   bytea NOT NULL REFERENCES blob,
  PRIMARY KEY (job_id, role, path, position),
  FOREIGN KEY (job_id, role, path) REFERENCES job_file ON DELETE CASCADE,
  CONSTRAINT job_file_chunk_position_counts_from_zero CHECK (position >= 0)
);

CREATE INDEX job_file_chunk_of_blob ON job_file_chunk (sha256);

CREATE TYPE attempt_outcome AS ENUM
  ('completed', 'failed', 'cancelled', 'expired', 'refused', 'handed_back', 'lost');

-- One assignment of a job to a machine. Whatever a volunteer sends names its attempt, by number and token.
CREATE TABLE attempt (
  job_id           uuid NOT NULL REFERENCES job ON DELETE CASCADE,
  number           integer NOT NULL,
  machine_id       uuid NOT NULL REFERENCES machine,
  session_id       uuid NOT NULL REFERENCES machine_session,
  token_hash       bytea NOT NULL,
  assigned_at      timestamptz NOT NULL DEFAULT now(),
  accepted_at      timestamptz,
  ended_at         timestamptz,
  outcome          attempt_outcome,
  resumed_sequence integer,
  cpu_ms           bigint NOT NULL DEFAULT 0,
  paid_micro       bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (job_id, number),
  CONSTRAINT attempt_counts_from_one CHECK (number > 0),
  CONSTRAINT attempt_token_is_sha256 CHECK (octet_length(token_hash) = 32),
  CONSTRAINT attempt_that_ended_has_an_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL)),
  CONSTRAINT attempt_amounts_are_not_negative CHECK (cpu_ms >= 0 AND paid_micro >= 0)
);

CREATE UNIQUE INDEX attempt_is_one_at_a_time ON attempt (job_id) WHERE ended_at IS NULL;
CREATE INDEX attempt_of_session ON attempt (session_id) WHERE ended_at IS NULL;
CREATE INDEX attempt_lost_by_machine ON attempt (machine_id, job_id) WHERE outcome = 'lost';

CREATE TABLE checkpoint (
  job_id         uuid NOT NULL,
  sequence       integer NOT NULL,
  attempt_number integer NOT NULL,
  r_version      text NOT NULL,
  size_bytes     bigint NOT NULL,
  cpu_ms         bigint NOT NULL,
  usable         boolean NOT NULL DEFAULT true,
  created_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (job_id, sequence),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempt (job_id, number) ON DELETE CASCADE,
  CONSTRAINT checkpoint_numbers_are_not_negative CHECK (sequence > 0 AND size_bytes >= 0 AND cpu_ms >= 0)
);

CREATE TABLE checkpoint_chunk (
  job_id   uuid NOT NULL,
  sequence integer NOT NULL,
  position integer NOT NULL,
  sha256   bytea NOT NULL REFERENCES blob,
  PRIMARY KEY (job_id, sequence, position),
  FOREIGN KEY (job_id, sequence) REFERENCES checkpoint ON DELETE CASCADE
);

CREATE INDEX checkpoint_chunk_of_blob ON checkpoint_chunk (sha256);

-- The history of a watched variable. A small value stands in the row, a large one is a list of chunks.
CREATE TABLE partial_result (
  job_id         uuid NOT NULL,
  variable       text NOT NULL,
  sequence       bigint NOT NULL,
  attempt_number integer NOT NULL,
  changes        bigint NOT NULL,
  recorded_at    timestamptz NOT NULL,
  size_bytes     bigint NOT NULL,
  inline_bytes   bytea,
  superseded     boolean NOT NULL DEFAULT false,
  PRIMARY KEY (job_id, variable, sequence),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempt (job_id, number) ON DELETE CASCADE,
  CONSTRAINT partial_result_variable_fits CHECK (octet_length(variable) BETWEEN 1 AND 200),
  CONSTRAINT partial_result_stands_for_changes CHECK (sequence > 0 AND changes > 0),
  CONSTRAINT partial_result_size_is_true
    CHECK (size_bytes >= 0 AND (inline_bytes IS NULL OR octet_length(inline_bytes) = size_bytes))
);

CREATE TABLE partial_result_chunk (
  job_id   uuid NOT NULL,
  variable text NOT NULL,
  sequence bigint NOT NULL,
  position integer NOT NULL,
  sha256   bytea NOT NULL REFERENCES blob,
  PRIMARY KEY (job_id, variable, sequence, position),
  FOREIGN KEY (job_id, variable, sequence) REFERENCES partial_result ON DELETE CASCADE
);

CREATE INDEX partial_result_chunk_of_blob ON partial_result_chunk (sha256);
