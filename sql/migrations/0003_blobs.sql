-- Chunks of at most 1 MiB, named by the SHA-256 of their uncompressed bytes. The bytes are files; this is what
-- is known about them.

CREATE TABLE blob (
  sha256       bytea PRIMARY KEY,
  size_bytes   integer NOT NULL,
  stored_bytes integer NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT blob_name_is_sha256 CHECK (octet_length(sha256) = 32),
  CONSTRAINT blob_is_one_chunk CHECK (size_bytes BETWEEN 0 AND 1048576 AND stored_bytes > 0)
);

-- A chunk counts as present only for whom uploaded it: an account, or an attempt of a job. Deduplication saves
-- disk and never shows or grants another's bytes.
CREATE TABLE blob_presence (
  sha256         bytea NOT NULL REFERENCES blob,
  account_id     uuid REFERENCES account,
  job_id         uuid,
  attempt_number integer,
  pinned_until   timestamptz NOT NULL,
  CONSTRAINT blob_presence_has_one_uploader
    CHECK ((account_id IS NULL) <> (job_id IS NULL) AND (job_id IS NULL) = (attempt_number IS NULL)),
  CONSTRAINT blob_presence_is_unique UNIQUE NULLS NOT DISTINCT (account_id, job_id, attempt_number, sha256)
);

CREATE INDEX blob_presence_of_blob ON blob_presence (sha256);
