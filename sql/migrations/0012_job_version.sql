-- Grows with every change of a job that its owner may want to see; whoever holds a version can wait for the next.

ALTER TABLE job ADD COLUMN version bigint NOT NULL DEFAULT 1;

CREATE OR REPLACE FUNCTION job_state_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT job_state_may_move(OLD.state, NEW.state) THEN
    RAISE EXCEPTION 'a job may not move from % to %', OLD.state, NEW.state
      USING ERRCODE = 'check_violation', CONSTRAINT = 'job_state_moves', TABLE = 'job';
  END IF;
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $$;

-- A job as people see it.
CREATE VIEW job_shown AS
SELECT id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, price_micro, utc_text(deadline) AS deadline,
       watched_variables, utc_text(created_at) AS created_at, utc_text(submitted_at) AS submitted_at,
       utc_text(ended_at) AS ended_at, attempt_number, failure_code, failure_detail, version
FROM job;

-- It calls to_char, which is not immutable; said truly, the planner writes it out instead of calling it.
ALTER FUNCTION utc_text(timestamptz) STABLE;
