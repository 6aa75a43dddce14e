-- The history of watched variables leaves room for the result; repeated log-ins are one audit event; hand-backs
-- are named by what is counted.

-- What the history of a job's watched variables may take of what machines may bring for it: limits::kHistoryShare.
CREATE FUNCTION job_history_quota(results_quota_bytes bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN results_quota_bytes / 2;

CREATE OR REPLACE FUNCTION attempt_has_storage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage (id, job_id, attempt_number, owner_id, quota_bytes, kept_bytes)
  SELECT gen_random_uuid(), NEW.job_id, NEW.number, j.account_id, job_results_quota(s.quota_bytes),
         least((SELECT coalesce(sum(bytes), 0) FROM watched_variable w WHERE w.job_id = j.id),
               job_history_quota(job_results_quota(s.quota_bytes)))
  FROM job j JOIN storage s ON s.account_id = j.account_id WHERE j.id = NEW.job_id;
  RETURN NULL;
END $$;

-- An IPv6 address stands for its /64, which one subscriber has.
CREATE FUNCTION audit_origin(address inet) RETURNS inet LANGUAGE sql IMMUTABLE RETURN
  CASE WHEN family(address) = 6 THEN network(set_masklen(address, 64))::inet ELSE address END;

-- Until the end of this transaction nobody writes an event that the index below would refuse.
LOCK TABLE audit_event IN SHARE ROW EXCLUSIVE MODE;

-- Log-ins of an account from one origin within an hour of the clock are one row with their number.
WITH repeated AS (
  SELECT min(id) AS first, array_agg(id) AS ids, sum(count) AS count FROM audit_event WHERE action = 'login'
  GROUP BY date_trunc('hour', at AT TIME ZONE 'UTC'), account_id, audit_origin(address) HAVING count(*) > 1
), counted AS (
  UPDATE audit_event e SET count = r.count FROM repeated r WHERE e.id = r.first
)
DELETE FROM audit_event e USING repeated r WHERE e.id = ANY(r.ids) AND e.id <> r.first;
CREATE UNIQUE INDEX audit_event_logins_are_put_together
  ON audit_event (date_trunc('hour', at AT TIME ZONE 'UTC'), account_id, audit_origin(address)) WHERE action = 'login';

-- Nothing resets it: a job that machines now lose, now give back must end some day, too.
ALTER TABLE job RENAME COLUMN hand_backs_in_a_row TO hand_backs;
