-- Jobs find machines: what the worker looks for, what a lease is measured by, and what an attempt costs.

ALTER TABLE machine_session
  -- The socket that speaks for the machine. Whoever holds an older one speaks for nobody.
  ADD COLUMN connection_id uuid,
  -- How long after seen_at its attempts are lost; the market that said welcome has chosen it.
  ADD COLUMN lease_ms integer NOT NULL DEFAULT 30000,
  ADD COLUMN price_micro_per_cpu_second bigint NOT NULL DEFAULT 0,
  -- A job that has waited too long for a machine as large as this one: nothing else begins here until it has.
  ADD COLUMN reserved_for uuid,
  ADD CONSTRAINT machine_session_lease_is_positive CHECK (lease_ms > 0);

-- Each market writes seen_at of all its machines every few seconds; with an index on it every one of those would be
-- written to all the others as well.
DROP INDEX machine_session_by_seen;
ALTER TABLE machine_session SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX machine_session_offering ON machine_session (price_micro_per_cpu_second, id)
  WHERE ended_at IS NULL AND taking_jobs AND cpu_cores_free > 0;
CREATE INDEX machine_session_reserved ON machine_session (reserved_for)
  WHERE reserved_for IS NOT NULL AND ended_at IS NULL;

-- Where a job stands among the others of its account. A higher price is a head start of a minute for each doubling, an hour
-- at most; so whoever came more than an hour later never overtakes.
CREATE FUNCTION job_rank(submitted_at timestamptz, price_micro bigint) RETURNS timestamptz LANGUAGE sql STABLE RETURN
  submitted_at - make_interval(secs => least(3600, 60 * ln(1 + price_micro / 1e6::float8) / ln(2::float8)));

ALTER TABLE job
  ADD COLUMN rank timestamptz,
  -- What the script itself says about how far it is.
  ADD COLUMN progress real,
  ADD COLUMN progress_message text,
  ADD CONSTRAINT job_progress_is_a_fraction CHECK (progress BETWEEN 0 AND 1);
UPDATE job SET rank = job_rank(submitted_at, price_micro) WHERE submitted_at IS NOT NULL;
ALTER TABLE job ADD CONSTRAINT job_that_waits_has_a_rank CHECK (state <> 'queued' OR rank IS NOT NULL);
ALTER TABLE job SET (autovacuum_vacuum_scale_factor = 0.05);

-- The waiting room: the accounts take turns, each with its best job first.
DROP INDEX job_waiting;
CREATE INDEX job_waiting ON job (account_id, rank, id) WHERE state = 'queued';
-- Who has waited longest, of all.
CREATE INDEX job_waiting_by_rank ON job (rank) WHERE state = 'queued';

ALTER TABLE attempt
  -- What the machine asked when it was given the job.
  ADD COLUMN price_micro_per_cpu_second bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT attempt_price_is_not_negative CHECK (price_micro_per_cpu_second >= 0);

-- The CPU time that counts: what the agent measured, but never more than the time that passed on all the job's cores.
CREATE FUNCTION cpu_ms_counted(cpu_ms bigint, accepted_at timestamptz, cpu_cores integer) RETURNS bigint
LANGUAGE sql STABLE RETURN
  CASE WHEN accepted_at IS NULL THEN 0
       ELSE least(cpu_ms, (extract(epoch FROM now() - accepted_at) * 1000 * cpu_cores)::bigint) END;

-- Whether this attempt keeps its job from the same machine: for good if it lost the job, for a minute if it gave it back.
CREATE FUNCTION attempt_excludes(outcome attempt_outcome, ended_at timestamptz) RETURNS boolean LANGUAGE sql STABLE RETURN
  outcome = 'lost' OR (outcome IN ('refused', 'handed_back') AND ended_at > now() - interval '1 minute');

-- The CPU time that a job's price buys; null from a machine that asks nothing.
CREATE FUNCTION cpu_ms_bought(price_micro bigint, price_micro_per_cpu_second bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE RETURN
  CASE WHEN price_micro_per_cpu_second > 0 THEN trunc(price_micro::numeric * 1000 / price_micro_per_cpu_second)::bigint END;

-- A plan that was made when the ledger was small, and is kept, must not read all of it when it is large.
ALTER FUNCTION ledger_entry_apply() SET enable_seqscan = off;
ALTER FUNCTION ledger_entry_apply() SET enable_hashjoin = off;
ALTER FUNCTION ledger_entry_apply() SET enable_mergejoin = off;

CREATE OR REPLACE VIEW job_shown AS
SELECT id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, price_micro, utc_text(deadline) AS deadline,
       watched_variables, utc_text(created_at) AS created_at, utc_text(submitted_at) AS submitted_at,
       utc_text(ended_at) AS ended_at, attempt_number, failure_code, failure_detail, version, progress, progress_message
FROM job;
