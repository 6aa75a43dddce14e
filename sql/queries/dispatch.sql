-- Assignment of queued jobs to machine sessions. A message names queued jobs or sessions with free capacity. For jobs the
-- worker finds sessions that could run them; for sessions it locks the best queued jobs, with accounts served round-robin. So
-- a new job never overtakes jobs that have waited for the same machine. Which machine suits which job: machine_suits() of
-- sql/migrations/0026_machine_suits.sql.

-- name: dispatch_offers
-- $1 jobs, $2 sessions at most for each kind of job. Machine sessions that could run one of them, the cheapest first for each
-- kind (jobs with the same needs and price; a job that had an attempt is a kind of its own, because it excludes some
-- machines).
WITH kind AS (
  SELECT cpu_cores, ram_mb, disc_mb, price_micro, CASE WHEN attempt_number > 0 THEN id END AS tried, array_agg(id) AS jobs
  FROM job WHERE id = ANY($1::uuid[]) AND state = 'queued' AND NOT job_is_late(deadline)
  GROUP BY 1, 2, 3, 4, 5
)
SELECT DISTINCT o.id FROM kind k CROSS JOIN LATERAL (
  SELECT s.id FROM machine_session s
  WHERE machine_session_is_open(s.ended_at, s.taking_jobs, s.seen_at, s.lease_ms) AND s.cpu_cores_free > 0
    AND machine_suits(k.cpu_cores, k.ram_mb, k.disc_mb, k.price_micro,
                      s.cpu_cores_free, s.ram_mb_free, s.disc_mb_free, s.price_micro_per_cpu_second,
                      excluded => k.tried IS NOT NULL AND EXISTS (
                        SELECT FROM job_exclusion x WHERE x.job_id = k.tried AND x.machine_id = s.machine_id),
                      reserved => s.reserved_for IS NOT NULL AND s.reserved_for <> ALL(k.jobs))
  ORDER BY s.price_micro_per_cpu_second, s.id LIMIT least(cardinality(k.jobs), $2::int)
) o

-- name: dispatch_sessions
-- $1 sessions, $2 also those that are full. Locks those that offer capacity until the end of the transaction; skips those that
-- another transaction has locked.
SELECT s.id, s.machine_id, s.market_id, s.cpu_cores_free, s.ram_mb_free, s.disc_mb_free, m.cpu_cores, m.ram_mb, m.disc_mb,
       s.price_micro_per_cpu_second, s.reserved_for
FROM machine_session s JOIN machine m ON m.id = s.machine_id JOIN account a ON a.id = m.account_id
WHERE s.id = ANY($1::uuid[]) AND machine_session_is_open(s.ended_at, s.taking_jobs, s.seen_at, s.lease_ms)
  AND (s.cpu_cores_free > 0 OR $2::boolean) AND m.banned_at IS NULL AND NOT m.paused AND a.disabled_at IS NULL
ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED

-- name: dispatch_sessions_lock
-- $1 sessions. Waits for those that offer capacity and are locked by other transactions, for when dispatch_sessions skipped all of
-- them and no later message may name them. A dispatch_sessions that follows in the transaction skips none of
-- these.
SELECT 1 FROM machine_session
WHERE id = ANY($1::uuid[]) AND machine_session_is_open(ended_at, taking_jobs, seen_at, lease_ms) AND cpu_cores_free > 0
ORDER BY id FOR NO KEY UPDATE

-- name: dispatch_accounts
-- $1 account, $2 at most so many. The next accounts with queued jobs after $1, by id: one index look-up for each.
WITH RECURSIVE turn AS (
  (SELECT account_id FROM job WHERE state = 'queued' AND account_id > $1::uuid ORDER BY account_id LIMIT 1)
  UNION ALL
  SELECT next.account_id FROM turn t CROSS JOIN LATERAL (
    SELECT account_id FROM job WHERE state = 'queued' AND account_id > t.account_id ORDER BY account_id LIMIT 1) next
)
SELECT account_id FROM turn LIMIT $2::int

-- name: dispatch_jobs
-- $1 accounts, $2 of each at most so many; parallel arrays $3 machines without a reservation, $4 cpu_cores, $5 ram_mb, $6 disc_mb,
-- $7 price: what is free. Locks the best queued jobs of each account that one of them suits, until the end of the transaction.
WITH machine AS MATERIALIZED (
  SELECT * FROM unnest($3::uuid[], $4::int[], $5::int[], $6::int[], $7::bigint[]) m (id, cpu_cores, ram_mb, disc_mb, price)
)
SELECT w.* FROM unnest($1::uuid[]) WITH ORDINALITY a (account_id, turn)
JOIN account owner ON owner.id = a.account_id AND owner.disabled_at IS NULL
CROSS JOIN LATERAL (
  SELECT j.id, j.account_id, j.cpu_cores, j.ram_mb, j.disc_mb, j.price_micro, j.attempt_number, a.turn,
         row_number() OVER () AS place
  FROM (
    SELECT * FROM job j
    WHERE j.account_id = a.account_id AND j.state = 'queued' AND NOT job_is_late(j.deadline)
      AND EXISTS (
        SELECT FROM machine m
        WHERE machine_suits(j.cpu_cores, j.ram_mb, j.disc_mb, j.price_micro, m.cpu_cores, m.ram_mb, m.disc_mb, m.price,
                            excluded => j.attempt_number > 0 AND EXISTS (
                              SELECT FROM job_exclusion x WHERE x.job_id = j.id AND x.machine_id = m.id),
                            reserved => false))
    ORDER BY j.rank, j.id LIMIT $2::int FOR NO KEY UPDATE SKIP LOCKED
  ) j
) w
ORDER BY w.place, w.turn

-- name: dispatch_named_jobs
-- $1 jobs, for which machines are reserved. Locks those that are still queued and whose owner is not disabled; the reservations
-- of the others are obsolete.
SELECT j.id, j.account_id, j.cpu_cores, j.ram_mb, j.disc_mb, j.price_micro, j.attempt_number
FROM job j JOIN account owner ON owner.id = j.account_id AND owner.disabled_at IS NULL
WHERE j.id = ANY($1::uuid[]) AND j.state = 'queued' AND NOT job_is_late(j.deadline)
ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED

-- name: dispatch_excluded
-- $1 jobs, $2 machines. Which of these each excludes.
SELECT DISTINCT job_id, machine_id FROM job_exclusion WHERE job_id = ANY($1::uuid[]) AND machine_id = ANY($2::uuid[])

-- name: dispatch_assign
-- Parallel arrays $1 jobs, $2 sessions. Requires that all are locked. Begins their attempts, without tokens: attempt_assignments
-- makes them. The state is compared as text, so that jobs are looked up by id: without statistics the planner would prefer the
-- index of queued jobs.
WITH plan AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) p (job_id, machine_session_id)
), assigned AS (
  UPDATE job j SET state = 'assigned', attempt_number = j.attempt_number + 1
  FROM plan p WHERE j.id = p.job_id AND j.state::text = 'queued'
  RETURNING j.id, j.attempt_number, j.cpu_cores, j.ram_mb, j.disc_mb, j.request_id, p.machine_session_id
), begun AS (
  INSERT INTO attempt (job_id, number, machine_id, machine_session_id, price_micro_per_cpu_second)
  SELECT a.id, a.attempt_number, s.machine_id, s.id, s.price_micro_per_cpu_second
  FROM assigned a JOIN machine_session s ON s.id = a.machine_session_id
), taken AS (
  SELECT machine_session_id, sum(cpu_cores) AS cpu_cores, sum(ram_mb) AS ram_mb, sum(disc_mb) AS disc_mb, array_agg(id) AS jobs
  FROM assigned GROUP BY 1
), reduced AS (
  UPDATE machine_session s
  SET cpu_cores_free = cpu_cores_free - t.cpu_cores, ram_mb_free = ram_mb_free - t.ram_mb, disc_mb_free = disc_mb_free - t.disc_mb,
      reserved_for = CASE WHEN s.reserved_for = ANY(t.jobs) THEN NULL ELSE s.reserved_for END
  FROM taken t WHERE s.id = t.machine_session_id
)
SELECT a.id AS job_id, a.attempt_number AS number, a.request_id, a.machine_session_id, s.market_id
FROM assigned a JOIN machine_session s ON s.id = a.machine_session_id

-- name: dispatch_reserve
-- Parallel arrays $1 sessions, $2 jobs. Requires that the sessions are locked.
UPDATE machine_session s SET reserved_for = r.job_id
FROM unnest($1::uuid[], $2::uuid[]) r (machine_session_id, job_id) WHERE s.id = r.machine_session_id

-- name: dispatch_release
-- $1 sessions. Releases their reservations. Requires that they are locked.
UPDATE machine_session SET reserved_for = NULL WHERE id = ANY($1::uuid[])

-- name: dispatch_overdue
-- $1 accounts, $2 seconds, $3 at most so many. Each account's first job if it has waited so long, unless a machine is reserved
-- for one of the account's already; and machine sessions that could run it if they were empty, those with the most free cores
-- first.
SELECT j.id, j.account_id, c.machine_session_id FROM unnest($1::uuid[]) a (account_id)
JOIN account owner ON owner.id = a.account_id AND owner.disabled_at IS NULL
CROSS JOIN LATERAL (
  SELECT * FROM job j WHERE j.account_id = a.account_id AND j.state = 'queued' ORDER BY j.rank, j.id LIMIT 1
) j
CROSS JOIN LATERAL (
  SELECT s.id AS machine_session_id FROM machine_session s JOIN machine m ON m.id = s.machine_id
  WHERE machine_session_is_open(s.ended_at, s.taking_jobs, s.seen_at, s.lease_ms)
    AND machine_suits(j.cpu_cores, j.ram_mb, j.disc_mb, j.price_micro,
                      m.cpu_cores, m.ram_mb, m.disc_mb, s.price_micro_per_cpu_second,
                      excluded => EXISTS (SELECT FROM job_exclusion x WHERE x.job_id = j.id AND x.machine_id = m.id),
                      reserved => s.reserved_for IS NOT NULL)
  ORDER BY s.cpu_cores_free DESC, s.id LIMIT 4
) c
WHERE NOT job_is_late(j.deadline) AND j.submitted_at < now() - make_interval(secs => $2::float8)
  AND NOT EXISTS (SELECT FROM machine_session r JOIN job w ON w.id = r.reserved_for
                  WHERE r.reserved_for IS NOT NULL AND r.ended_at IS NULL AND w.account_id = a.account_id)
ORDER BY j.submitted_at, j.id LIMIT $3::int * 4

-- name: dispatch_offering
-- $1 at most so many. Machine sessions with free capacity, for the scan. None when no job is queued.
SELECT id FROM machine_session
WHERE machine_session_is_open(ended_at, taking_jobs, seen_at, lease_ms) AND cpu_cores_free > 0
  AND EXISTS (SELECT FROM job WHERE state = 'queued')
ORDER BY random() LIMIT $1::int
