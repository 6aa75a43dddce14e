-- Machine sessions: a session begins with hello, is renewed by beats, and ends with goodbye or when its lease expires.

-- name: machine_sessions_evict
-- $1 account or null, $2 machine or null: whose sessions are assigned no more jobs and will be ended by a worker. Waits for a
-- worker that is assigning a job to one of them. Returns the market with the socket of each.
WITH found AS (
  SELECT s.id FROM machine m JOIN machine_session s ON s.machine_id = m.id AND s.ended_at IS NULL
  WHERE m.account_id = $1::uuid OR m.id = $2::uuid
  ORDER BY s.id FOR NO KEY UPDATE OF s
)
UPDATE machine_session s SET evicted = true, taking_jobs = false
FROM found f WHERE s.id = f.id AND s.ended_at IS NULL
RETURNING s.id, s.market_id

-- name: machine_sessions_evicted
-- $1 at most so many. Locks evicted sessions that have not ended.
SELECT id FROM machine_session WHERE evicted AND ended_at IS NULL ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED

-- name: machine_session_machine
-- $1 hash of the machine's token. The machine of the token.
SELECT m.id, m.cpu_cores, m.ram_mb, m.disc_mb, m.price_micro_per_cpu_second
FROM machine_caller($1) c JOIN machine m ON m.id = c.id

-- name: machine_session_resume
-- $1 machine, $2 market, $3 connection, $4 taking_jobs, $5 lease_ms. No row: it has no session.
UPDATE machine_session SET market_id = $2::uuid, connection_id = $3::uuid, lease_ms = $5::int, seen_at = now(),
       taking_jobs = $4::boolean AND NOT (SELECT paused FROM machine WHERE id = $1::uuid)
WHERE machine_id = $1::uuid AND ended_at IS NULL AND NOT evicted
RETURNING id, market_id

-- name: machine_session_begin
-- The same, and $6 the new session's id. No row: another transaction has begun one.
INSERT INTO machine_session (id, machine_id, market_id, connection_id, taking_jobs, lease_ms, cpu_cores_free, ram_mb_free,
                             disc_mb_free, price_micro_per_cpu_second)
SELECT $6::uuid, m.id, $2::uuid, $3::uuid, $4::boolean AND NOT m.paused, $5::int, m.cpu_cores, m.ram_mb, m.disc_mb, m.price_micro_per_cpu_second
FROM machine m WHERE m.id = $1::uuid AND m.removed_at IS NULL AND m.banned_at IS NULL
ON CONFLICT (machine_id) WHERE ended_at IS NULL DO NOTHING
RETURNING id

-- name: machine_session_attempts
-- $1 session, $2 files and $3 bytes of files that may come with an assignment. Its open attempts, with the data of their
-- assignments.
SELECT *, job_small_files(job_id, $2::int, $3::int) AS files FROM assignment
WHERE machine_session_id = $1::uuid AND ended_at IS NULL

-- name: machine_session_seen
-- Parallel arrays $1 sessions, $2 connections, $3 taking_jobs. Renews the sessions that still belong to their connections, and
-- returns them; offers: it takes jobs now and did not before. A machine that its owner has paused takes none. One that was
-- banned or removed, or whose owner was disabled, is not among them, also if the message that closes its socket was lost.
WITH named AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::boolean[]) n (id, connection_id, taking_jobs)
), locked AS (
  SELECT s.id, s.taking_jobs AS before, n.taking_jobs AND NOT m.paused AS taking_jobs
  FROM named n JOIN machine_session s ON s.id = n.id JOIN machine m ON m.id = s.machine_id JOIN account a ON a.id = m.account_id
  WHERE s.connection_id = n.connection_id AND s.ended_at IS NULL AND NOT s.evicted
    AND m.removed_at IS NULL AND m.banned_at IS NULL AND a.disabled_at IS NULL
  ORDER BY s.id FOR NO KEY UPDATE OF s
)
UPDATE machine_session s SET seen_at = now(), taking_jobs = l.taking_jobs
FROM locked l WHERE s.id = l.id AND s.ended_at IS NULL AND NOT s.evicted
RETURNING s.id, l.taking_jobs AND NOT l.before AS offers

-- name: machine_session_close
-- $1 session, $2 connection. Offers it no more jobs.
UPDATE machine_session SET taking_jobs = false WHERE id = $1::uuid AND connection_id = $2::uuid AND ended_at IS NULL

-- name: machine_session_end_idle
-- $1 sessions, $2 also those that take jobs. Those without attempts end.
UPDATE machine_session s SET ended_at = now()
WHERE s.id = ANY($1::uuid[]) AND s.ended_at IS NULL AND ($2::boolean OR NOT s.taking_jobs)
  AND NOT EXISTS (SELECT FROM attempt a WHERE a.machine_session_id = s.id AND a.ended_at IS NULL)

-- name: machine_session_lost
-- $1 at most so many. Locks sessions whose lease has expired.
SELECT id FROM machine_session
WHERE ended_at IS NULL AND seen_at < now() - make_interval(secs => lease_ms / 1000.0)
ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED

-- name: machine_session_lost_jobs
-- $1 sessions. Locks the jobs of their open attempts; skips jobs that are locked.
SELECT j.id, a.number FROM attempt a JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number
WHERE a.machine_session_id = ANY($1::uuid[]) AND a.ended_at IS NULL
ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED

-- name: machine_session_unaccepted_jobs
-- $1 seconds, $2 at most so many. Locks jobs that were assigned and not accepted in that time although their machine has sent
-- beats since.
SELECT j.id, a.number FROM attempt a
JOIN machine_session s ON s.id = a.machine_session_id
JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number
WHERE a.ended_at IS NULL AND a.accepted_at IS NULL AND s.seen_at > a.assigned_at + make_interval(secs => $1::float8)
  AND a.assigned_at < now() - make_interval(secs => $1::float8)
ORDER BY j.id LIMIT $2::int FOR NO KEY UPDATE OF j SKIP LOCKED

-- name: machine_session_longest_lease
SELECT coalesce(max(lease_ms), 0) AS lease_ms FROM machine_session WHERE ended_at IS NULL

-- name: machine_session_delete_ended
-- $1 at most so many. Deletes machine sessions that ended more than an hour ago and that no attempt names. None begins in one
-- that has ended.
DELETE FROM machine_session WHERE id = ANY(ARRAY(
  SELECT s.id FROM machine_session s
  WHERE s.ended_at < now() - interval '1 hour' AND NOT EXISTS (SELECT FROM attempt a WHERE a.machine_session_id = s.id)
  LIMIT $1::int FOR UPDATE OF s SKIP LOCKED))
