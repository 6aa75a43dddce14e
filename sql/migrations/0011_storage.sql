-- Who holds which chunks, how much of them, and where their bytes are.

-- One for each account and one for each attempt: chunks are uploaded into a storage and count against its quota.
CREATE TABLE storage (
  id             uuid PRIMARY KEY,
  account_id     uuid REFERENCES account,
  job_id         uuid,
  attempt_number integer,
  used_bytes     bigint NOT NULL DEFAULT 0,
  quota_bytes    bigint NOT NULL,
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempt (job_id, number) ON DELETE CASCADE,
  CONSTRAINT storage_has_one_owner
    CHECK ((account_id IS NULL) <> (job_id IS NULL) AND (job_id IS NULL) = (attempt_number IS NULL)),
  CONSTRAINT storage_is_never_over_quota CHECK (used_bytes BETWEEN 0 AND quota_bytes)
);

CREATE UNIQUE INDEX storage_of_account ON storage (account_id) WHERE account_id IS NOT NULL;
CREATE UNIQUE INDEX storage_of_attempt ON storage (job_id, attempt_number) WHERE job_id IS NOT NULL;

CREATE FUNCTION account_has_storage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage (id, account_id, quota_bytes) VALUES (gen_random_uuid(), NEW.id, 10::bigint << 30);
  RETURN NULL;
END $$;

CREATE TRIGGER account_has_storage AFTER INSERT ON account FOR EACH ROW EXECUTE FUNCTION account_has_storage();
INSERT INTO storage (id, account_id, quota_bytes) SELECT gen_random_uuid(), id, 10::bigint << 30 FROM account;

-- An attempt may upload in proportion to what its job asked for: its files and a few images of its memory.
CREATE FUNCTION attempt_has_storage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage (id, job_id, attempt_number, quota_bytes)
  SELECT gen_random_uuid(), NEW.job_id, NEW.number, (j.disc_mb + 4 * j.ram_mb)::bigint << 20 FROM job j WHERE j.id = NEW.job_id;
  RETURN NULL;
END $$;

CREATE TRIGGER attempt_has_storage AFTER INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION attempt_has_storage();
INSERT INTO storage (id, job_id, attempt_number, quota_bytes)
SELECT gen_random_uuid(), a.job_id, a.number, (j.disc_mb + 4 * j.ram_mb)::bigint << 20
FROM attempt a JOIN job j ON j.id = a.job_id;

-- Nothing wrote to the first form of this table.
DROP TABLE blob_presence;

-- A chunk counts as present only for the storage into which it was uploaded: deduplication saves disk and never shows or
-- grants another's bytes. It stays while it is pinned, or a job of the same account refers to it.
CREATE TABLE blob_presence (
  storage_id   uuid NOT NULL REFERENCES storage ON DELETE CASCADE,
  sha256       bytea NOT NULL REFERENCES blob,
  pinned_until timestamptz NOT NULL,
  PRIMARY KEY (storage_id, sha256)
);

CREATE INDEX blob_presence_of_blob ON blob_presence (sha256);
CREATE INDEX blob_presence_by_pin ON blob_presence (pinned_until);

ALTER TABLE blob
  -- Part of the file's name. A chunk that was collected and comes back is another file, so that whoever is late in
  -- deleting the old one cannot take the new one.
  ADD COLUMN generation uuid NOT NULL DEFAULT gen_random_uuid(),
  -- When to look whether anything still refers to it.
  ADD COLUMN check_after timestamptz NOT NULL DEFAULT now() + interval '1 day';
ALTER TABLE blob ALTER COLUMN generation DROP DEFAULT;

CREATE INDEX blob_by_check ON blob (check_after);

-- A chunk takes a block of the disk and an inode, however small it is.
CREATE FUNCTION chunk_charge(size_bytes bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN greatest(size_bytes, 4096);

-- One folder of files belongs to one database: with another's every file would look like an orphan.
CREATE TABLE blob_store (
  id       uuid NOT NULL DEFAULT gen_random_uuid(),
  the_only boolean PRIMARY KEY DEFAULT true CHECK (the_only)
);
INSERT INTO blob_store DEFAULT VALUES;

ALTER TABLE job_file
  ADD COLUMN account_id uuid REFERENCES account,  -- the job's owner
  ADD COLUMN attempt_number integer;              -- which attempt brought it, if a machine did
UPDATE job_file SET account_id = (SELECT account_id FROM job WHERE id = job_id);
ALTER TABLE job_file
  ALTER COLUMN account_id SET NOT NULL,
  ADD CONSTRAINT job_file_is_the_clients_or_an_attempts CHECK ((attempt_number IS NULL) = (role IN ('code', 'data')));

-- What a file costs its owner's storage beyond the chunks that the owner has uploaded: what stands in the row, and all
-- that a machine has brought, whose own storage ends with its attempt.
CREATE FUNCTION job_file_charge(attempt_number integer, size_bytes bigint, inline_bytes bytea) RETURNS bigint
LANGUAGE sql IMMUTABLE RETURN
  CASE WHEN attempt_number IS NULL AND inline_bytes IS NULL THEN 0 ELSE chunk_charge(size_bytes) END;

CREATE FUNCTION job_file_is_charged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE storage SET used_bytes = used_bytes + job_file_charge(NEW.attempt_number, NEW.size_bytes, NEW.inline_bytes)
    WHERE account_id = NEW.account_id;
  ELSE
    UPDATE storage SET used_bytes = used_bytes - job_file_charge(OLD.attempt_number, OLD.size_bytes, OLD.inline_bytes)
    WHERE account_id = OLD.account_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER job_file_is_charged AFTER INSERT OR DELETE ON job_file
  FOR EACH ROW EXECUTE FUNCTION job_file_is_charged();
UPDATE storage s SET used_bytes = (
  SELECT coalesce(sum(job_file_charge(f.attempt_number, f.size_bytes, f.inline_bytes)), 0)
  FROM job_file f WHERE f.account_id = s.account_id)
WHERE account_id IS NOT NULL;

-- Reading asks "does this job refer to this chunk", collecting "does a job of this account"; a chunk may be in very many.
ALTER TABLE job_file_chunk ADD COLUMN account_id uuid;
UPDATE job_file_chunk SET account_id = (SELECT account_id FROM job WHERE id = job_id);
ALTER TABLE job_file_chunk ALTER COLUMN account_id SET NOT NULL;
DROP INDEX job_file_chunk_of_blob, checkpoint_chunk_of_blob, partial_result_chunk_of_blob;
CREATE INDEX job_file_chunk_of_blob ON job_file_chunk (sha256, account_id, job_id);
CREATE INDEX checkpoint_chunk_of_blob ON checkpoint_chunk (sha256, job_id);
CREATE INDEX partial_result_chunk_of_blob ON partial_result_chunk (sha256, job_id);

-- The storage into which a caller uploads. With a job: a machine that works on it. stale: the machine's attempt is not the
-- current one. No row: the token is not valid.
CREATE FUNCTION storage_caller(token bytea, job uuid, attempt integer, attempt_token bytea)
RETURNS TABLE (id uuid, stale boolean)
LANGUAGE sql STABLE AS $$
  SELECT s.id, false FROM user_caller(token) c JOIN storage s ON s.account_id = c.id WHERE job IS NULL
  UNION ALL
  SELECT s.id, s.id IS NULL FROM attempt_caller(token, job, attempt, attempt_token) c
  LEFT JOIN storage s ON c.current AND s.job_id = job AND s.attempt_number = attempt WHERE job IS NOT NULL
$$;

-- What a machine reports when a script stops with an error.
ALTER TYPE job_file_role ADD VALUE 'error';
