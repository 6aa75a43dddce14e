-- Attempts begin (dispatch.sql), get a token, are accepted, and end. Where they are named, "outcome IS NULL" says that one has not ended:
-- with "ended_at IS NULL" the planner would use the index of all live attempts, which it estimates to be few. The order of
-- locks is in lock.sql.

-- name: attempt_current
-- Parallel arrays $1 jobs, $2 numbers, $3 token hashes (empty: reported by the market itself), $4 machines. The positions (1
-- …) of those that match and are current. Requires job_rows_lock.
SELECT k.position
FROM unnest($1::uuid[], $2::int[], $3::bytea[], $4::uuid[]) WITH ORDINALITY k (job_id, number, token_hash, machine_id, position)
JOIN job j ON j.id = k.job_id AND j.attempt_number = k.number
JOIN attempt a ON a.job_id = k.job_id AND a.number = k.number
WHERE a.outcome IS NULL AND (k.token_hash = '' OR a.token_hash = k.token_hash) AND a.machine_id = k.machine_id

-- name: attempt_assignments
-- Parallel arrays $1 jobs, $2 numbers, $3 their machine sessions, $4 connections of those, $5 hashes of tokens; $6 files and $7
-- bytes of files that may come with an assignment. Gives each attempt its token and returns its assignment, with its position (1
-- …), unless it has ended, has a token, or its machine has connected again or is evicted.
--
-- At the same time a hello may make another token for the same attempt (attempt_set_tokens). The row's lock orders the
-- two: if this statement is first, the hello replaces its token, and sends the new one on the machine's new connection; if the
-- hello is first, or has the lock, the attempt is skipped here. So the token that a machine is sent last is the one of the row.
WITH named AS (
  SELECT * FROM unnest($1::uuid[], $2::int[], $3::uuid[], $4::uuid[], $5::bytea[]) WITH ORDINALITY
    n (job_id, number, machine_session_id, connection_id, token_hash, position)
), unsent AS (
  SELECT a.job_id, a.number, n.token_hash, n.position
  FROM named n JOIN attempt a ON a.job_id = n.job_id AND a.number = n.number
  JOIN machine_session s ON s.id = a.machine_session_id
  WHERE a.outcome IS NULL AND a.token_hash IS NULL
    AND s.id = n.machine_session_id AND s.connection_id = n.connection_id AND s.ended_at IS NULL AND NOT s.evicted
  FOR NO KEY UPDATE OF a SKIP LOCKED
), begun AS (
  UPDATE attempt a SET token_hash = u.token_hash FROM unsent u WHERE a.job_id = u.job_id AND a.number = u.number
  RETURNING a.job_id, a.number, u.position
)
SELECT b.position, s.*, job_small_files(s.job_id, $6::int, $7::int) AS files
FROM begun b JOIN assignment s ON s.job_id = b.job_id AND s.number = b.number

-- name: attempt_accept
-- Parallel arrays $1 jobs, $2 numbers. Requires that they are current. Accepting twice is accepting once.
WITH named AS (
  SELECT * FROM unnest($1::uuid[], $2::int[]) n (job_id, number)
), accepted AS (
  UPDATE attempt a SET accepted_at = now() FROM named n
  WHERE a.job_id = n.job_id AND a.number = n.number AND a.accepted_at IS NULL
)
UPDATE job j SET state = 'running' FROM named n WHERE j.id = n.job_id AND j.state = 'assigned'

-- name: attempt_set_tokens
-- Parallel arrays $1 jobs, $2 numbers, $3 new token hashes. The old tokens are no longer valid.
UPDATE attempt a SET token_hash = n.token_hash
FROM unnest($1::uuid[], $2::int[], $3::bytea[]) n (job_id, number, token_hash)
WHERE a.job_id = n.job_id AND a.number = n.number AND a.outcome IS NULL

-- name: attempt_beats
-- Parallel arrays $1 sessions, $2 jobs, $3 numbers, $4 CPU ms: attempts named by beats. Records the CPU time, and returns those
-- that are no longer current. Skips attempts that another transaction is ending.
WITH named AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::bigint[]) n (machine_session_id, job_id, number, cpu_ms)
), free AS (
  SELECT a.job_id, a.number, n.cpu_ms FROM named n JOIN attempt a ON a.job_id = n.job_id AND a.number = n.number
  WHERE a.machine_session_id = n.machine_session_id AND a.outcome IS NULL AND n.cpu_ms > a.cpu_ms
  FOR NO KEY UPDATE OF a SKIP LOCKED
), noted AS (
  UPDATE attempt a SET cpu_ms = f.cpu_ms FROM free f WHERE a.job_id = f.job_id AND a.number = f.number
)
SELECT n.machine_session_id, n.job_id, n.number FROM named n
WHERE NOT EXISTS (SELECT FROM attempt a WHERE a.job_id = n.job_id AND a.number = n.number AND a.machine_session_id = n.machine_session_id
                    AND a.outcome IS NULL)

-- name: attempt_end
-- Parallel arrays $1 jobs, $2 numbers, $3 outcomes, $4 CPU ms or -1 (what the last beat said). Requires job_rows_lock and
-- attempt_sessions_lock. Ends those that have not ended, computes what each machine has earned, and frees the capacity of its
-- session. A machine earns nothing from its own owner. Stopped attempts are settled later.
WITH wanted AS (
  SELECT n.number, n.outcome, nullif(n.cpu_ms, -1) AS cpu_ms, j.id, j.account_id, j.cpu_cores, j.ram_mb, j.disc_mb, coalesce(e.balance_micro, 0) AS held
  FROM unnest($1::uuid[], $2::int[], $3::attempt_outcome[], $4::bigint[]) n (job_id, number, outcome, cpu_ms)
  JOIN job j ON j.id = n.job_id LEFT JOIN ledger_account e ON e.job_id = j.id AND e.kind = 'escrow'
), ended AS (
  UPDATE attempt a
  SET ended_at = now(), outcome = w.outcome,
      cpu_ms = cpu_ms_counted(coalesce(w.cpu_ms, a.cpu_ms), a.accepted_at, w.cpu_cores),
      paid_micro = CASE
        WHEN m.account_id = w.account_id OR attempt_pay(w.outcome) <> 'measured' THEN 0
        ELSE trunc(least(w.held, cpu_ms_counted(coalesce(w.cpu_ms, a.cpu_ms), a.accepted_at, w.cpu_cores)::numeric
                                 * a.price_micro_per_cpu_second / 1000))::bigint END
  FROM wanted w, machine m
  WHERE a.job_id = w.id AND a.number = w.number AND a.outcome IS NULL AND m.id = a.machine_id
  RETURNING a.job_id, a.number, a.machine_session_id, w.cpu_cores, w.ram_mb, w.disc_mb, a.outcome, a.machine_id, a.token_hash,
            a.accepted_at, a.cpu_ms, a.price_micro_per_cpu_second, w.account_id AS owner_id, m.account_id AS earner_id, w.held,
            a.leave_by IS NOT NULL AS leaving
), freed AS (
  SELECT machine_session_id, sum(cpu_cores) AS cpu_cores, sum(ram_mb) AS ram_mb, sum(disc_mb) AS disc_mb FROM ended GROUP BY 1
), given_back AS (
  UPDATE machine_session s
  SET cpu_cores_free = cpu_cores_free + f.cpu_cores, ram_mb_free = ram_mb_free + f.ram_mb, disc_mb_free = disc_mb_free + f.disc_mb
  FROM freed f WHERE s.id = f.machine_session_id
), stopped AS (
  INSERT INTO settlement (job_id, attempt_number, machine_id, token_hash, owner_id, earner_id, cpu_ms, cpu_ms_max,
                          price_micro_per_cpu_second, settle_by)
  SELECT e.job_id, e.number, e.machine_id, e.token_hash, e.owner_id, e.earner_id, e.cpu_ms,
         cpu_ms_counted(9223372036854775807, e.accepted_at, e.cpu_cores), e.price_micro_per_cpu_second,
         now() + make_interval(secs => s.lease_ms / 1000.0)
  FROM ended e JOIN machine_session s ON s.id = e.machine_session_id
  WHERE attempt_pay(e.outcome) = 'measured_until_stop' AND e.accepted_at IS NOT NULL AND e.owner_id <> e.earner_id
    AND e.price_micro_per_cpu_second > 0 AND e.held > 0
), released AS (
  INSERT INTO storage_released (storage_id)
  SELECT s.id FROM ended e JOIN storage s ON s.job_id = e.job_id AND s.attempt_number = e.number
  WHERE s.used_bytes > 0 OR (s.kept_bytes > 0 AND attempt_requeues(e.outcome))
)
SELECT e.job_id, e.number, e.machine_session_id, s.market_id, s.ended_at IS NULL AS open, e.leaving
FROM ended e JOIN machine_session s ON s.id = e.machine_session_id

-- name: attempt_resume
-- $1 job, $2 attempt, $3 sequence of the checkpoint that it went on from or 0, $4 the newer ones that it skipped, $5 why it did not
-- go on from the newest, or null. No row: it has said so before.
WITH checkpoint_of AS (
  SELECT attempt_number, attempt_cpu_ms, cpu_ms FROM checkpoint WHERE job_id = $1::uuid AND sequence = $3::int
), resumed AS (
  UPDATE attempt SET resumed_from = $3::int, skipped = $4::jsonb, cpu_ms_before = coalesce((SELECT cpu_ms FROM checkpoint_of), 0)
  WHERE job_id = $1::uuid AND number = $2::int AND resumed_from IS NULL
  RETURNING number
), saved AS (
  UPDATE attempt a SET saved_cpu_ms = greatest(a.saved_cpu_ms, c.attempt_cpu_ms) FROM checkpoint_of c, resumed
  WHERE a.job_id = $1::uuid AND a.number = c.attempt_number
)
UPDATE job SET resume_problem = $5 FROM resumed WHERE id = $1::uuid RETURNING id

-- name: attempt_pay_saved
-- $1 job, $2 sequence of a checkpoint from which an attempt goes on, $3 id for the transfer. Pays the machine that took it for the
-- CPU time up to there, less what it was paid before, at most what the job holds.
WITH due AS (
  SELECT d.attempt_number, e.id AS escrow_id, purse.id AS purse_id, trunc(least(e.balance_micro, d.due_micro))::bigint AS pay
  FROM checkpoint_due d
  JOIN ledger_account e ON e.job_id = d.job_id AND e.kind = 'escrow'
  JOIN ledger_account purse ON purse.account_id = d.earner_id AND purse.kind = 'user'
  WHERE d.job_id = $1::uuid AND d.sequence = $2::int
), transfer AS (
  INSERT INTO ledger_transfer (id, idempotency_key, reason, job_id)
  SELECT $3::uuid, 'saved:' || $1::uuid || ':' || attempt_number || ':' || $2::int, 'pay', $1::uuid FROM due WHERE pay > 0
  ON CONFLICT (idempotency_key) DO NOTHING
  RETURNING id
), noted AS (
  UPDATE attempt a SET paid_micro = a.paid_micro + d.pay FROM due d, transfer
  WHERE a.job_id = $1::uuid AND a.number = d.attempt_number
)
INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
SELECT t.id, d.escrow_id, -d.pay FROM transfer t, due d
UNION ALL
SELECT t.id, d.purse_id, d.pay FROM transfer t, due d

-- name: attempt_leave
-- $1 job, $2 attempt, $3 seconds that it has to hand the job over, from the first time on. Returns where its machine is.
WITH leaving AS (
  UPDATE attempt SET leave_by = coalesce(leave_by, now() + make_interval(secs => $3::int))
  WHERE job_id = $1::uuid AND number = $2::int AND outcome IS NULL
  RETURNING machine_session_id
)
SELECT s.id AS machine_session_id, s.market_id FROM leaving l JOIN machine_session s ON s.id = l.machine_session_id

-- name: attempt_overdue_jobs
-- $1 at most so many. Locks the jobs of attempts that should have handed them over by now.
SELECT j.id, a.number FROM attempt a JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number
WHERE a.leave_by < now() AND a.ended_at IS NULL
ORDER BY j.id LIMIT $1::int FOR NO KEY UPDATE OF j SKIP LOCKED

-- name: attempts_list
-- $1 token hash, $2 job, $3 page (1 …), $4 rows a page. Of a job, for its owner or an admin; oldest first, one row more than a page
-- if there is one. The machine's name is for its owner and admins. No row: the token is not valid. job_id is null when there is no
-- such job for this caller, number when there is nothing (more) to show.
SELECT j.id AS job_id, a.* FROM user_caller($1) c
LEFT JOIN job j ON j.id = $2::uuid AND (j.account_id = c.id OR c.role = 'admin')
LEFT JOIN LATERAL (
  SELECT t.number, t.machine_id, CASE WHEN m.account_id = c.id OR c.role = 'admin' THEN m.name END AS machine_name,
         utc_text(t.assigned_at) AS assigned_at, utc_text(t.accepted_at) AS accepted_at, utc_text(t.ended_at) AS ended_at, t.outcome,
         t.cpu_ms, t.paid_micro, t.saved_cpu_ms, nullif(t.resumed_from, 0) AS resumed_from, t.skipped, t.checkpoints
  FROM attempt t JOIN machine m ON m.id = t.machine_id WHERE t.job_id = j.id
  ORDER BY t.number LIMIT $4::int + 1 OFFSET ($3::int - 1) * $4::int
) a ON true

-- name: attempt_records_supersede
-- Parallel arrays $1 jobs, $2 sequences of their checkpoints from which they are gone on with, or 0. Marks what ended attempts have
-- recorded after that as superseded: all records of later attempts, and those of the checkpoint's attempt that came after it.
WITH named AS (
  SELECT n.job_id, coalesce(c.attempt_number, 0) AS attempt_number, c.watched
  FROM unnest($1::uuid[], $2::int[]) n (job_id, sequence)
  LEFT JOIN checkpoint c ON c.job_id = n.job_id AND c.sequence = n.sequence
  WHERE EXISTS (SELECT FROM watched_variable w WHERE w.job_id = n.job_id)
)
UPDATE attempt a
SET kept_records = CASE WHEN a.number > n.attempt_number THEN '{}' ELSE kept_records_of(a.kept_records, n.watched) END
FROM named n WHERE a.job_id = n.job_id AND a.number >= n.attempt_number AND a.outcome IS NOT NULL
