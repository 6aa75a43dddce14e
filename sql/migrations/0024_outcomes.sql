-- What follows from an attempt's outcome, as core/attempt_outcome.cc has it. tests/integration/attempt_outcome_test.cc compares
-- these functions and attempt_excludes() with its table. Each is one expression, so that the planner inlines it.

-- What the machine is paid for.
CREATE FUNCTION attempt_pay(outcome attempt_outcome) RETURNS text LANGUAGE sql IMMUTABLE RETURN
  CASE outcome WHEN 'completed' THEN 'measured' WHEN 'failed' THEN 'measured'
               WHEN 'cancelled' THEN 'measured_until_stop' WHEN 'expired' THEN 'measured_until_stop'
               ELSE 'nothing' END;

-- Whether the job is queued again, unless this has happened too often.
CREATE FUNCTION attempt_requeues(outcome attempt_outcome) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN
  outcome IN ('refused', 'handed_back', 'lost');
