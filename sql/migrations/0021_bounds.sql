-- What machines upload counts against the storage of the job's owner, from the first byte and within a share of its quota.

-- What all that machines bring for one job may take of its owner's quota: limits::kJobResultsShare.
CREATE FUNCTION job_results_quota(quota_bytes bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN quota_bytes / 4;

ALTER TABLE storage
  -- Of an attempt: the account that is charged with its used_bytes, which are chunks that no file or value has yet.
  -- Null: an attempt that began before there was such a charge.
  ADD COLUMN owner_id uuid,
  -- Of an attempt: what the owner is charged for the files that it brought and for the history of the job's variables.
  ADD COLUMN kept_bytes bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT storage_owner_is_an_attempts CHECK (owner_id IS NULL OR job_id IS NOT NULL),
  DROP CONSTRAINT storage_is_never_over_quota,
  ADD CONSTRAINT storage_is_never_over_quota CHECK (account_id IS NULL OR used_bytes BETWEEN 0 AND quota_bytes),
  ADD CONSTRAINT results_are_within_their_share
    CHECK (job_id IS NULL OR (used_bytes >= 0 AND kept_bytes >= 0 AND used_bytes + kept_bytes <= quota_bytes));

CREATE OR REPLACE FUNCTION attempt_has_storage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage (id, job_id, attempt_number, owner_id, quota_bytes, kept_bytes)
  SELECT gen_random_uuid(), NEW.job_id, NEW.number, j.account_id, job_results_quota(s.quota_bytes),
         least((SELECT coalesce(sum(bytes), 0) FROM watched_variable w WHERE w.job_id = j.id), job_results_quota(s.quota_bytes))
  FROM job j JOIN storage s ON s.account_id = j.account_id WHERE j.id = NEW.job_id;
  RETURN NULL;
END $$;

-- Attempts' storages are locked before accounts'.
CREATE FUNCTION storage_owner_is_charged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE storage SET used_bytes = used_bytes + CASE TG_OP WHEN 'UPDATE' THEN NEW.used_bytes ELSE 0 END - OLD.used_bytes
  WHERE account_id = OLD.owner_id;
  RETURN NULL;
END $$;

CREATE TRIGGER storage_owner_is_charged AFTER UPDATE OF used_bytes ON storage FOR EACH ROW
  WHEN (OLD.owner_id IS NOT NULL AND OLD.used_bytes <> NEW.used_bytes) EXECUTE FUNCTION storage_owner_is_charged();
CREATE TRIGGER storage_owner_is_relieved AFTER DELETE ON storage FOR EACH ROW
  WHEN (OLD.owner_id IS NOT NULL AND OLD.used_bytes > 0) EXECUTE FUNCTION storage_owner_is_charged();

-- Once for a statement: a row that is updated for each of ten thousand files keeps all its versions until the commit.
CREATE OR REPLACE FUNCTION job_file_is_charged() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM 1 FROM storage s JOIN (SELECT DISTINCT job_id, attempt_number FROM changed WHERE attempt_number IS NOT NULL) c
      ON c.job_id = s.job_id AND c.attempt_number = s.attempt_number
    WHERE s.owner_id IS NOT NULL ORDER BY s.id FOR NO KEY UPDATE OF s;
  UPDATE storage s SET kept_bytes = greatest(0, s.kept_bytes + sign * c.bytes)
  FROM (SELECT job_id, attempt_number, sum(job_file_charge(attempt_number, size_bytes, inline_bytes)) AS bytes
        FROM changed WHERE attempt_number IS NOT NULL GROUP BY 1, 2) c
  WHERE s.job_id = c.job_id AND s.attempt_number = c.attempt_number AND s.owner_id IS NOT NULL;
  PERFORM 1 FROM storage s JOIN (SELECT DISTINCT account_id FROM changed) c ON c.account_id = s.account_id
    ORDER BY s.account_id FOR NO KEY UPDATE OF s;
  UPDATE storage s SET used_bytes = s.used_bytes + sign * c.bytes
  FROM (SELECT account_id, sum(job_file_charge(attempt_number, size_bytes, inline_bytes)) AS bytes FROM changed GROUP BY 1) c
  WHERE s.account_id = c.account_id AND c.bytes <> 0;
  RETURN NULL;
END $$;

DROP TRIGGER job_file_is_charged ON job_file;
CREATE TRIGGER job_file_is_charged AFTER INSERT ON job_file
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION job_file_is_charged();
CREATE TRIGGER job_file_is_given_back AFTER DELETE ON job_file
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION job_file_is_charged();

CREATE OR REPLACE FUNCTION watched_variable_is_charged() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  watched watched_variable := CASE TG_OP WHEN 'INSERT' THEN NEW ELSE OLD END;
  charge bigint := CASE TG_OP WHEN 'INSERT' THEN NEW.bytes WHEN 'UPDATE' THEN NEW.bytes - OLD.bytes ELSE -OLD.bytes END;
BEGIN
  UPDATE storage s SET kept_bytes = greatest(0, s.kept_bytes + charge)
  FROM job j WHERE j.id = watched.job_id AND s.job_id = j.id AND s.attempt_number = j.attempt_number AND s.owner_id IS NOT NULL;
  UPDATE storage SET used_bytes = used_bytes + charge WHERE account_id = watched.account_id;
  RETURN NULL;
END $$;

-- Whether a file or a value that this attempt brought has the chunk: what has been named is no longer a presence.
CREATE FUNCTION attempt_has_named(job uuid, attempt integer, chunk bytea) RETURNS boolean LANGUAGE sql STABLE RETURN
  EXISTS (SELECT FROM job j
          JOIN job_file_chunk r ON r.sha256 = chunk AND r.account_id = j.account_id AND r.job_id = j.id
          JOIN job_file f ON f.job_id = r.job_id AND f.role = r.role AND f.path = r.path AND f.attempt_number = attempt
          WHERE j.id = job)
  OR EXISTS (SELECT FROM partial_result_chunk r
             JOIN partial_result p ON p.job_id = r.job_id AND p.variable = r.variable AND p.sequence = r.sequence
             WHERE r.sha256 = chunk AND r.job_id = job AND p.attempt_number = attempt);

-- Storages of attempts that have ended and left what is nobody's: chunks that nothing has, files of an attempt whose job was
-- put back. They are emptied soon, some at a time, and their owners relieved.
CREATE TABLE storage_released (
  storage_id uuid PRIMARY KEY REFERENCES storage ON DELETE CASCADE
);

-- Whoever takes a chunk's place in a file or a value away is no longer charged for it: it is looked at when chunks are
-- next collected. One that somebody else holds is looked at when it would be anyway.
CREATE FUNCTION chunk_is_looked_at_soon() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE blob b SET check_after = now()
  FROM (SELECT b.sha256 FROM (SELECT DISTINCT sha256 FROM gone) g JOIN blob b ON b.sha256 = g.sha256
        WHERE b.check_after > now() ORDER BY b.sha256 FOR NO KEY UPDATE OF b SKIP LOCKED) c
  WHERE b.sha256 = c.sha256;
  RETURN NULL;
END $$;

CREATE TRIGGER chunk_of_a_file_is_looked_at_soon AFTER DELETE ON job_file_chunk
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION chunk_is_looked_at_soon();
CREATE TRIGGER chunk_of_a_value_is_looked_at_soon AFTER DELETE ON partial_result_chunk
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION chunk_is_looked_at_soon();

-- A job that is cancelled or expires while a machine runs it is over at once, but what it holds stays held until the machine has
-- said how much CPU time it took to the end, or a lease has passed without that.
CREATE TABLE settlement (
  job_id         uuid PRIMARY KEY,  -- no reference: a job may be deleted before it is settled
  attempt_number integer NOT NULL,
  machine_id     uuid NOT NULL REFERENCES machine,
  token_hash     bytea NOT NULL,    -- the attempt's
  owner_id       uuid NOT NULL REFERENCES account,
  earner_id      uuid NOT NULL REFERENCES account,
  cpu_ms         bigint NOT NULL,   -- what its last beat said
  cpu_ms_max     bigint NOT NULL,   -- from acceptance to the end, on all its cores
  price_micro_per_cpu_second bigint NOT NULL,
  settle_by      timestamptz NOT NULL,
  CONSTRAINT settlement_amounts_are_not_negative
    CHECK (cpu_ms >= 0 AND cpu_ms_max >= 0 AND price_micro_per_cpu_second > 0)
);

CREATE INDEX settlement_by_time ON settlement (settle_by);

-- What an account has and does, counted, so that it is bounded without looking at all of it. Locked after jobs and before the
-- ledger.
CREATE TABLE account_tally (
  account_id     uuid PRIMARY KEY REFERENCES account,
  jobs           integer NOT NULL DEFAULT 0,
  uploading_jobs integer NOT NULL DEFAULT 0,
  hour           timestamptz NOT NULL DEFAULT '-infinity',
  submissions    integer NOT NULL DEFAULT 0,  -- within that hour
  CONSTRAINT account_tally_counts CHECK (jobs >= 0 AND uploading_jobs BETWEEN 0 AND jobs AND submissions >= 0)
) WITH (fillfactor = 50);

INSERT INTO account_tally (account_id, jobs, uploading_jobs)
SELECT a.id, count(j.id), count(j.id) FILTER (WHERE j.state = 'uploading')
FROM account a LEFT JOIN job j ON j.account_id = a.id GROUP BY a.id;

CREATE FUNCTION account_has_a_tally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO account_tally (account_id) VALUES (NEW.id);
  RETURN NULL;
END $$;

CREATE TRIGGER account_has_a_tally AFTER INSERT ON account FOR EACH ROW EXECUTE FUNCTION account_has_a_tally();

CREATE FUNCTION submissions_within(hour timestamptz, submissions integer) RETURNS integer LANGUAGE sql STABLE RETURN
  CASE WHEN hour = date_trunc('hour', now()) THEN submissions ELSE 0 END;

CREATE FUNCTION job_is_tallied() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  existed boolean := TG_OP <> 'INSERT';
  exists boolean := TG_OP <> 'DELETE';
  uploaded boolean := existed AND OLD.state = 'uploading';
  uploads boolean := exists AND NEW.state = 'uploading';
  submitted boolean := exists AND NEW.state = 'queued' AND (NOT existed OR uploaded);
BEGIN
  UPDATE account_tally t
  SET jobs = t.jobs + exists::int - existed::int,
      uploading_jobs = t.uploading_jobs + uploads::int - uploaded::int,
      submissions = CASE WHEN submitted THEN submissions_within(t.hour, t.submissions) + 1 ELSE t.submissions END,
      hour = CASE WHEN submitted THEN date_trunc('hour', now()) ELSE t.hour END
  WHERE t.account_id = CASE WHEN exists THEN NEW.account_id ELSE OLD.account_id END;
  RETURN NULL;
END $$;

CREATE TRIGGER job_is_tallied AFTER INSERT OR DELETE ON job FOR EACH ROW EXECUTE FUNCTION job_is_tallied();
CREATE TRIGGER job_leaves_uploading AFTER UPDATE OF state ON job FOR EACH ROW
  WHEN (OLD.state = 'uploading' AND NEW.state <> 'uploading') EXECUTE FUNCTION job_is_tallied();

-- Who looks for those that nobody goes on with.
CREATE INDEX job_uploading ON job (created_at) WHERE state = 'uploading';

-- What an account's jobs hold stands beside its balance: nobody has to add it up.
ALTER TABLE ledger_account
  ADD COLUMN holder_id uuid,                        -- of an escrow: the purse whose credits it holds
  ADD COLUMN held_micro bigint NOT NULL DEFAULT 0,  -- of a purse: the sum of those escrows
  ADD CONSTRAINT ledger_held_is_not_negative CHECK (held_micro >= 0 AND (held_micro = 0 OR kind = 'user')),
  ADD CONSTRAINT ledger_holder_is_an_escrows CHECK (holder_id IS NULL OR kind = 'escrow');

ALTER TABLE ledger_account DISABLE TRIGGER ledger_balance_stays;
UPDATE ledger_account e SET holder_id = u.id
FROM job j JOIN ledger_account u ON u.account_id = j.account_id AND u.kind = 'user'
WHERE e.kind = 'escrow' AND e.job_id = j.id AND e.balance_micro > 0;
UPDATE ledger_account u SET held_micro = e.held
FROM (SELECT holder_id, sum(balance_micro) AS held FROM ledger_account WHERE holder_id IS NOT NULL GROUP BY 1) e
WHERE u.id = e.holder_id;
ALTER TABLE ledger_account ENABLE TRIGGER ledger_balance_stays;

CREATE OR REPLACE FUNCTION ledger_entry_apply() RETURNS trigger LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  wrong uuid;
BEGIN
  SELECT transfer_id INTO wrong FROM fresh GROUP BY transfer_id HAVING sum(amount_micro) <> 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the entries of transfer % do not sum to zero', wrong
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transfer_sums_to_zero', TABLE = 'ledger_entry';
  END IF;
  SELECT f.transfer_id INTO wrong
    FROM (SELECT transfer_id, count(*) AS entries FROM fresh GROUP BY 1) f
    CROSS JOIN LATERAL (SELECT count(*) AS entries FROM ledger_entry e WHERE e.transfer_id = f.transfer_id) e
    WHERE e.entries <> f.entries LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'transfer % was made by an earlier statement and takes no more entries', wrong
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transfer_is_final', TABLE = 'ledger_entry';
  END IF;
  -- Locked in one order everywhere, so that two transfers over the same accounts wait instead of deadlocking.
  PERFORM 1 FROM (
      SELECT ledger_account_id AS id FROM fresh
      UNION
      SELECT e.holder_id FROM fresh f CROSS JOIN LATERAL (
        SELECT holder_id FROM ledger_account e WHERE e.id = f.ledger_account_id AND e.holder_id IS NOT NULL) e
      ORDER BY 1) f
    CROSS JOIN LATERAL (
      SELECT FROM ledger_account a WHERE a.id = f.id AND a.kind IN ('user', 'escrow') FOR NO KEY UPDATE) a;
  UPDATE ledger_account a SET balance_micro = a.balance_micro + s.amount, held_micro = a.held_micro + s.held
    FROM (SELECT id, sum(amount)::bigint AS amount, sum(held)::bigint AS held FROM (
            SELECT ledger_account_id AS id, amount_micro AS amount, 0 AS held FROM fresh
            UNION ALL
            SELECT e.holder_id, 0, f.amount_micro FROM fresh f CROSS JOIN LATERAL (
              SELECT holder_id FROM ledger_account e WHERE e.id = f.ledger_account_id AND e.holder_id IS NOT NULL) e
          ) each GROUP BY 1) s
    WHERE a.id = s.id AND a.kind IN ('user', 'escrow');
  RETURN NULL;
END $$;

-- A job in a list: without what may be long.
CREATE VIEW job_listed AS
SELECT id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, price_micro, utc_text(deadline) AS deadline,
       utc_text(created_at) AS created_at, utc_text(submitted_at) AS submitted_at, utc_text(ended_at) AS ended_at,
       attempt_number, failure_code, version, progress
FROM job;
