-- Attempts go on from checkpoints: which machine can, what it inherits, and what the attempt that took the checkpoint is paid.

ALTER TABLE attempt RENAME COLUMN resumed_sequence TO resumed_from;
ALTER TABLE attempt
  ADD COLUMN checkpoints integer NOT NULL DEFAULT 0,    -- that it has recorded
  -- resumed_from: the checkpoint that it went on from; 0: it began afresh; null: its machine has not said yet.
  ADD COLUMN skipped jsonb NOT NULL DEFAULT '[]',       -- newer ones that it could not resume: sequence and reason of each
  ADD COLUMN cpu_ms_before bigint NOT NULL DEFAULT 0,   -- CPU time of the job up to there
  ADD COLUMN saved_cpu_ms bigint NOT NULL DEFAULT 0,    -- of its own, up to its newest checkpoint that another went on from
  ADD COLUMN leave_by timestamptz,                      -- it was asked to hand the job over until then
  -- Null: it lives or its job ended with it. Else its records above these numbers, by variable, are superseded; all, of a
  -- variable that is not there.
  ADD COLUMN kept_records jsonb,
  ADD CONSTRAINT attempt_checkpoints_are_not_negative
    CHECK (checkpoints >= 0 AND resumed_from >= 0 AND cpu_ms_before >= 0 AND saved_cpu_ms >= 0);
UPDATE attempt SET kept_records = '{}' WHERE lost_from IS NOT NULL;
ALTER TABLE attempt DROP COLUMN lost_from;

CREATE INDEX attempt_leaving ON attempt (leave_by) WHERE leave_by IS NOT NULL AND ended_at IS NULL;

CREATE FUNCTION record_is_superseded(kept_records jsonb, variable text, number bigint) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN
  kept_records IS NOT NULL AND number > coalesce((kept_records ->> variable)::bigint, 0);

-- What is kept of an attempt when another one goes on from a checkpoint with these numbers: never more than before.
CREATE FUNCTION kept_records_of(before jsonb, watched jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE RETURN
  CASE WHEN before IS NULL THEN watched
       ELSE (SELECT coalesce(jsonb_object_agg(w.key, least(w.value::bigint, coalesce((before ->> w.key)::bigint, 0))), '{}')
             FROM jsonb_each_text(watched) w) END;

ALTER TABLE machine
  ADD COLUMN r_version text NOT NULL DEFAULT '',     -- empty: unknown
  ADD COLUMN architecture text NOT NULL DEFAULT '',
  ADD COLUMN packages text[] NOT NULL DEFAULT '{}',  -- "name version" each
  ADD CONSTRAINT machine_packages_are_bounded CHECK (cardinality(packages) <= 3000);

ALTER TABLE job
  -- What the newest usable checkpoint needs; until that time only machines that have it get the job.
  ADD COLUMN resume_r text,
  ADD COLUMN resume_architecture text,
  ADD COLUMN resume_packages text[],
  ADD COLUMN resume_until timestamptz,
  ADD COLUMN resume_problem text,  -- why its last attempt did not go on from the newest checkpoint
  ADD CONSTRAINT job_resume_is_whole CHECK (
    (resume_until IS NULL) = (resume_r IS NULL) AND (resume_until IS NULL) = (resume_architecture IS NULL)
    AND (resume_until IS NULL) = (resume_packages IS NULL));

-- R's version without its last part: within it checkpoints can be resumed.
CREATE FUNCTION r_minor_version(version text) RETURNS text LANGUAGE sql IMMUTABLE RETURN
  split_part(version, '.', 1) || '.' || split_part(version, '.', 2);

-- Whether a machine has what a checkpoint needs.
CREATE FUNCTION machine_can_resume(r_version text, architecture text, packages text[],
                                   r_version_there text, architecture_there text, packages_there text[])
RETURNS boolean LANGUAGE sql IMMUTABLE RETURN
  r_minor_version(r_version) = r_minor_version(r_version_there) AND architecture = architecture_there AND packages <@ packages_there;

DROP VIEW job_exclusion;
DROP FUNCTION attempt_excludes(attempt_outcome, timestamptz);

-- An attempt that was lost after it had recorded a checkpoint does not exclude its machine: the next one goes on from there.
CREATE FUNCTION attempt_excludes(outcome attempt_outcome, ended_at timestamptz, checkpoints integer) RETURNS boolean
LANGUAGE sql STABLE RETURN
  (outcome::text = 'lost' AND checkpoints = 0)
  OR (outcome::text IN ('refused', 'handed_back') AND ended_at > now() - interval '1 minute');

-- The machines that a job must not be assigned to: because of its earlier attempts there, or for the time being because they
-- cannot resume it. May have a pair more than once.
CREATE VIEW job_exclusion AS
SELECT job_id, machine_id FROM attempt WHERE attempt_excludes(outcome, ended_at, checkpoints)
UNION ALL
SELECT j.id, m.id FROM job j CROSS JOIN machine m
WHERE j.resume_until > now()
  AND NOT machine_can_resume(j.resume_r, j.resume_architecture, j.resume_packages, m.r_version, m.architecture, m.packages);

-- saved: the CPU time up to the checkpoint that a later attempt goes on from, when it says so.
CREATE OR REPLACE FUNCTION attempt_pay(outcome attempt_outcome) RETURNS text LANGUAGE sql STABLE RETURN
  CASE outcome::text WHEN 'completed' THEN 'measured' WHEN 'failed' THEN 'measured'
                     WHEN 'cancelled' THEN 'measured_until_stop' WHEN 'expired' THEN 'measured_until_stop'
                     WHEN 'lost' THEN 'saved' WHEN 'handed_back' THEN 'saved'
                     ELSE 'nothing' END;

-- What the attempt that took a checkpoint is due when another one goes on from it, beside what it was paid before.
CREATE VIEW checkpoint_due AS
SELECT c.job_id, c.sequence, c.attempt_number, m.account_id AS earner_id,
       CASE WHEN m.account_id = j.account_id THEN 0
            ELSE greatest(0, trunc(c.attempt_cpu_ms::numeric * a.price_micro_per_cpu_second / 1000) - a.paid_micro) END AS due_micro
FROM checkpoint c
JOIN job j ON j.id = c.job_id
JOIN attempt a ON a.job_id = c.job_id AND a.number = c.attempt_number AND attempt_pay(a.outcome) = 'saved'
JOIN machine m ON m.id = a.machine_id;

-- What a machine is told of an attempt; its files are read by job_small_files(). The CPU time is what the rest of the escrow buys.
DROP VIEW assignment;
CREATE VIEW assignment AS
SELECT a.job_id, a.number, a.machine_session_id, a.token_hash, a.ended_at, a.accepted_at IS NOT NULL AS accepted,
       a.leave_by IS NOT NULL AS leaving, j.exec_file, j.cpu_cores, j.ram_mb, j.disc_mb,
       cpu_ms_bought(coalesce(e.balance_micro, 0), a.price_micro_per_cpu_second) AS cpu_ms_max, utc_text(j.deadline) AS deadline,
       j.watched_variables, j.request_id, j.resumable,
       j.resumable AND EXISTS (SELECT FROM checkpoint c WHERE c.job_id = j.id AND c.unusable_because IS NULL) AS resume
FROM attempt a JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number
LEFT JOIN ledger_account e ON e.job_id = j.id AND e.kind = 'escrow';

CREATE OR REPLACE VIEW job_shown AS
SELECT id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, price_micro, utc_text(deadline) AS deadline,
       watched_variables, utc_text(created_at) AS created_at, utc_text(submitted_at) AS submitted_at,
       utc_text(ended_at) AS ended_at, attempt_number, failure_code, failure_detail, version, progress, progress_message,
       resumable, checkpoint_interval_ms, checkpoint_problem,
       (SELECT utc_text(c.taken_at) FROM checkpoint c
        WHERE c.job_id = job.id AND c.unusable_because IS NULL AND job.ended_at IS NULL
        ORDER BY c.sequence DESC LIMIT 1) AS checkpoint_at,
       CASE WHEN state = 'queued' AND resume_until > now() THEN utc_text(resume_until) END AS resume_until, resume_problem
FROM job;
