-- What follows from an attempt's outcome, as in 0013 and 0024, by the outcome's name. So one migration can add an outcome and name
-- it here: the transaction that adds a value of an enumeration cannot use it. The cast to text is STABLE, therefore these
-- functions are, too; the planner still inlines them.

CREATE OR REPLACE FUNCTION attempt_excludes(outcome attempt_outcome, ended_at timestamptz) RETURNS boolean LANGUAGE sql STABLE RETURN
  outcome::text = 'lost' OR (outcome::text IN ('refused', 'handed_back') AND ended_at > now() - interval '1 minute');

CREATE OR REPLACE FUNCTION attempt_pay(outcome attempt_outcome) RETURNS text LANGUAGE sql STABLE RETURN
  CASE outcome::text WHEN 'completed' THEN 'measured' WHEN 'failed' THEN 'measured'
                     WHEN 'cancelled' THEN 'measured_until_stop' WHEN 'expired' THEN 'measured_until_stop'
                     ELSE 'nothing' END;

CREATE OR REPLACE FUNCTION attempt_requeues(outcome attempt_outcome) RETURNS boolean LANGUAGE sql STABLE RETURN
  outcome::text IN ('refused', 'handed_back', 'lost');
