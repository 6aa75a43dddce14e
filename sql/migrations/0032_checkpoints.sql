-- Checkpoints that machines take of running jobs, and where their chunks are. Nothing has written to the first form of the tables.

DROP TABLE checkpoint_chunk, checkpoint;

ALTER TABLE job
  ADD COLUMN resumable boolean NOT NULL DEFAULT true,            -- its owner wants checkpoints
  ADD COLUMN checkpoint_sequence integer NOT NULL DEFAULT 0,     -- the newest that was recorded
  -- What the machine that runs it has said last: the interval between checkpoints, and why it has taken none.
  ADD COLUMN checkpoint_interval_ms bigint,
  ADD COLUMN checkpoint_problem text,
  ADD CONSTRAINT job_checkpoints_are_counted CHECK (checkpoint_sequence >= 0 AND checkpoint_interval_ms >= 0);

CREATE TYPE checkpoint_role AS ENUM ('state', 'log');

-- A row exists only when all its chunks were present in the job's storage of checkpoints.
CREATE TABLE checkpoint (
  job_id           uuid NOT NULL,
  sequence         integer NOT NULL,   -- of the job's, over all attempts
  attempt_number   integer NOT NULL,
  number           integer NOT NULL,   -- of the attempt's
  format           integer NOT NULL,
  -- What a machine needs to resume it. Packages with their versions: "name version".
  r_version        text NOT NULL,
  architecture     text NOT NULL,
  packages         text[] NOT NULL,
  state_bytes      bigint NOT NULL,    -- uncompressed
  size_bytes       bigint NOT NULL,
  sent_bytes       bigint NOT NULL,    -- chunks that the market did not have
  pause_ms         double precision NOT NULL,
  interval_ms      bigint NOT NULL,
  position         jsonb NOT NULL,     -- file, line and call
  attempt_cpu_ms   bigint NOT NULL,    -- of the attempt, as the machine is paid for it
  cpu_ms           bigint NOT NULL,    -- of the whole job up to here
  taken_at         timestamptz NOT NULL,
  progress         real,
  progress_message text,
  watched          jsonb NOT NULL,     -- by watched variable: the number of the attempt's last record before it
  log_left_out     bigint NOT NULL,
  -- Null: usable. Else why no attempt goes on from it any more.
  unusable_because text,
  recorded_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (job_id, sequence),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempt (job_id, number) ON DELETE CASCADE,
  CONSTRAINT checkpoint_is_recorded_once UNIQUE (job_id, attempt_number, number),
  CONSTRAINT checkpoint_counts_from_one CHECK (sequence > 0 AND number > 0 AND format > 0),
  CONSTRAINT checkpoint_progress_is_a_fraction CHECK (progress BETWEEN 0 AND 1),
  CONSTRAINT checkpoint_amounts_are_not_negative CHECK (
    state_bytes >= 0 AND size_bytes >= 0 AND sent_bytes >= 0 AND pause_ms >= 0 AND interval_ms >= 0 AND attempt_cpu_ms >= 0
    AND cpu_ms >= attempt_cpu_ms AND log_left_out >= 0)
);

CREATE TABLE checkpoint_chunk (
  job_id   uuid NOT NULL,
  sequence integer NOT NULL,
  role     checkpoint_role NOT NULL,
  position integer NOT NULL,
  sha256   bytea NOT NULL REFERENCES blob,
  PRIMARY KEY (job_id, sequence, role, position),
  FOREIGN KEY (job_id, sequence) REFERENCES checkpoint (job_id, sequence) ON DELETE CASCADE,
  CONSTRAINT checkpoint_chunk_position_counts_from_zero CHECK (position >= 0)
);

CREATE INDEX checkpoint_chunk_of_blob ON checkpoint_chunk (sha256, job_id);

CREATE TRIGGER chunk_of_a_checkpoint_is_looked_at_soon AFTER DELETE ON checkpoint_chunk
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION chunk_is_looked_at_soon();

-- What the checkpoints of one job may take, of its owner's quota: limits::kJobCheckpointsShare.
CREATE FUNCTION job_checkpoints_quota(quota_bytes bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN quota_bytes / 2;

-- A storage with a job and without an attempt has the chunks of the job's checkpoints, whichever attempt brought them. It exists
-- from the first of them on. The checkpoints of all jobs of an account count against its quota once more, beside everything else.
ALTER TABLE storage
  ADD COLUMN checkpoint_bytes bigint NOT NULL DEFAULT 0,  -- of an account: the sum over its jobs
  ADD FOREIGN KEY (job_id) REFERENCES job ON DELETE CASCADE,
  DROP CONSTRAINT storage_has_one_owner,
  ADD CONSTRAINT storage_has_one_owner
    CHECK ((account_id IS NULL) <> (job_id IS NULL) AND (attempt_number IS NULL OR job_id IS NOT NULL)),
  DROP CONSTRAINT results_are_within_their_share,
  ADD CONSTRAINT results_are_within_their_share
    CHECK (attempt_number IS NULL OR (used_bytes >= 0 AND kept_bytes >= 0 AND used_bytes + kept_bytes <= quota_bytes)),
  ADD CONSTRAINT checkpoints_are_within_their_share
    CHECK (job_id IS NULL OR attempt_number IS NOT NULL OR used_bytes BETWEEN 0 AND quota_bytes),
  ADD CONSTRAINT checkpoints_are_within_quota CHECK (account_id IS NULL OR checkpoint_bytes BETWEEN 0 AND quota_bytes);

CREATE UNIQUE INDEX storage_of_checkpoints ON storage (job_id) WHERE job_id IS NOT NULL AND attempt_number IS NULL;

CREATE OR REPLACE FUNCTION storage_owner_is_charged() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  charge bigint := CASE TG_OP WHEN 'UPDATE' THEN NEW.used_bytes ELSE 0 END - OLD.used_bytes;
BEGIN
  IF OLD.attempt_number IS NULL THEN
    UPDATE storage SET checkpoint_bytes = checkpoint_bytes + charge WHERE account_id = OLD.owner_id;
  ELSE
    UPDATE storage SET used_bytes = used_bytes + charge WHERE account_id = OLD.owner_id;
  END IF;
  RETURN NULL;
END $$;

-- The storage into which a caller uploads. With a job: a machine that works on it; for_checkpoint: the storage of the job's
-- checkpoints, which may not exist yet. stale: the machine's attempt is not the current one. No row: the token is not valid.
DROP FUNCTION storage_caller(bytea, uuid, integer, bytea);
CREATE FUNCTION storage_caller(token bytea, job uuid, attempt integer, attempt_token bytea, for_checkpoint boolean)
RETURNS TABLE (id uuid, stale boolean)
LANGUAGE sql STABLE AS $$
  SELECT s.id, false FROM user_caller(token) c JOIN storage s ON s.account_id = c.id WHERE job IS NULL
  UNION ALL
  SELECT s.id, NOT c.current FROM attempt_caller(token, job, attempt, attempt_token) c
  LEFT JOIN storage s ON c.current AND s.job_id = job
    AND CASE WHEN for_checkpoint THEN s.attempt_number IS NULL ELSE s.attempt_number = attempt END
  WHERE job IS NOT NULL
$$;
