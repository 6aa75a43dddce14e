-- The history of watched variables as machines tell it. Nothing has written to partial_result before.

CREATE TYPE partial_kind AS ENUM ('value', 'removed', 'problem');

-- What an attempt recorded after this moment was lost with it: a later attempt does that part again. Null: nothing was lost.
ALTER TABLE attempt ADD COLUMN lost_from timestamptz;

-- One for each watched variable that has a record. Whoever records holds the job's row.
CREATE TABLE watched_variable (
  job_id          uuid NOT NULL REFERENCES job ON DELETE CASCADE,
  variable        text NOT NULL,
  account_id      uuid NOT NULL REFERENCES account,  -- the job's owner
  -- The newest record: of the whole job, of which attempt and which number there, when.
  newest_sequence bigint NOT NULL,
  newest_attempt  integer NOT NULL,
  newest_number   bigint NOT NULL,
  newest_at       timestamptz NOT NULL,
  -- The newest that was not lost with its attempt; 0: there is none.
  live_sequence   bigint NOT NULL,
  -- What the history has, and what it costs the owner's storage.
  records         bigint NOT NULL,
  bytes           bigint NOT NULL,
  PRIMARY KEY (job_id, variable),
  CONSTRAINT watched_variable_fits CHECK (octet_length(variable) BETWEEN 1 AND 200),
  CONSTRAINT watched_variable_counts CHECK (
    newest_sequence > 0 AND newest_attempt > 0 AND newest_number > 0 AND live_sequence BETWEEN 0 AND newest_sequence
    AND records > 0 AND bytes > 0)
) WITH (fillfactor = 50);

DROP TABLE partial_result_chunk, partial_result;

-- A small value stands in the row, a large one is a list of chunks.
CREATE TABLE partial_result (
  job_id         uuid NOT NULL,
  variable       text NOT NULL,
  sequence       bigint NOT NULL,   -- grows over the whole job
  attempt_number integer NOT NULL,
  number         bigint NOT NULL,   -- the machine's own, within the attempt
  changes        bigint NOT NULL,   -- that it stands for; 0: not known
  changed_at     timestamptz NOT NULL,
  kind           partial_kind NOT NULL,
  size_bytes     bigint NOT NULL,
  inline_bytes   bytea,
  words          text,
  thinned        boolean NOT NULL DEFAULT false,  -- it also stands for records that stood before it
  PRIMARY KEY (job_id, variable, sequence),
  FOREIGN KEY (job_id, variable) REFERENCES watched_variable ON DELETE CASCADE,
  CONSTRAINT partial_result_counts CHECK (sequence > 0 AND attempt_number > 0 AND number > 0 AND changes >= 0),
  CONSTRAINT partial_result_is_of_its_kind CHECK (
    CASE kind WHEN 'value' THEN words IS NULL
              WHEN 'removed' THEN words IS NULL AND inline_bytes IS NULL AND size_bytes = 0
              ELSE words IS NOT NULL AND inline_bytes IS NULL AND size_bytes = 0 END),
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

CREATE INDEX partial_result_chunk_of_blob ON partial_result_chunk (sha256, job_id);

-- A row takes its place in the table, however small the value is.
CREATE FUNCTION partial_result_charge(size_bytes bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN size_bytes + 256;

CREATE FUNCTION watched_variable_is_charged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    UPDATE storage SET used_bytes = used_bytes + CASE TG_OP WHEN 'UPDATE' THEN NEW.bytes ELSE 0 END - OLD.bytes
    WHERE account_id = OLD.account_id;
  ELSE
    UPDATE storage SET used_bytes = used_bytes + NEW.bytes WHERE account_id = NEW.account_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER watched_variable_is_charged AFTER INSERT OR DELETE OR UPDATE OF bytes ON watched_variable
  FOR EACH ROW EXECUTE FUNCTION watched_variable_is_charged();
