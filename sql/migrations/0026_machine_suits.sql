-- Whether a machine suits a job: the rule by which the queries of a worker choose. Matcher (worker/matching/matching.h) has the
-- same rule for a snapshot, and tests/integration/machine_suits_test.cc compares the two. Each function is one expression without
-- a subquery, so that the planner inlines it and finds rows by index.

-- Compared with kPaidSecondsMin of worker/matching/matching.h.
CREATE FUNCTION paid_seconds_min() RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 1::bigint;

-- The machines that a job must not be assigned to, because of its earlier attempts there. May have a pair more than once.
CREATE VIEW job_exclusion AS
SELECT job_id, machine_id FROM attempt WHERE attempt_excludes(outcome, ended_at);

-- A job with its needs and price; a machine with its amounts, those that are free for an assignment and all of them for a
-- reservation, and its price; whether job_exclusion has the pair; whether the machine is reserved for another job. The price is
-- divided, because the product of a machine's price and the cores may overflow, and so that an index on the machine's price can
-- be used.
CREATE FUNCTION machine_suits(cpu_cores integer, ram_mb integer, disc_mb integer, price_micro bigint,
                              cpu_cores_there integer, ram_mb_there integer, disc_mb_there integer,
                              price_micro_per_cpu_second bigint, excluded boolean, reserved boolean)
RETURNS boolean LANGUAGE sql IMMUTABLE RETURN
  cpu_cores <= cpu_cores_there AND ram_mb <= ram_mb_there AND disc_mb <= disc_mb_there
  AND price_micro_per_cpu_second <= price_micro / cpu_cores / paid_seconds_min()
  AND NOT reserved AND NOT excluded;

-- Whether a job is too late to be assigned to any machine.
CREATE FUNCTION job_is_late(deadline timestamptz) RETURNS boolean LANGUAGE sql STABLE RETURN
  deadline IS NOT NULL AND deadline <= now();

-- Whether a machine session may get jobs: after half a lease without a beat it is probably gone.
CREATE FUNCTION machine_session_is_open(ended_at timestamptz, taking_jobs boolean, seen_at timestamptz, lease_ms integer)
RETURNS boolean LANGUAGE sql STABLE RETURN
  ended_at IS NULL AND taking_jobs AND seen_at > now() - make_interval(secs => lease_ms / 2000.0);
