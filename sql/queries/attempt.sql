-- Attempts begin (dispatch.sql), are accepted, and end. Where they are named, "outcome IS NULL" says that one has not ended:
-- with "ended_at IS NULL" the planner would use the index of all live attempts, which it estimates to be few. The order of
-- locks is in lock.sql.

-- name: attempt_current
-- Parallel arrays $1 jobs, $2 numbers, $3 token hashes (empty: reported by the market itself), $4 machines. The positions (1
-- …) of those that match and are current. Requires job_rows_lock.
SELECT k.position
FROM unnest($1::uuid[], $2::int[], $3::bytea[], $4::uuid[]) WITH ORDINALITY k (job_id, number, token_hash, machine_id, position)
JOIN job j ON j.id = k.job_id AND j.attempt_number = k.number
JOIN attempt a ON a.job_id = k.job_id AND a.number = k.number
WHERE a.outcome IS NULL AND a.token_hash = coalesce(nullif(k.token_hash, ''), a.token_hash) AND a.machine_id = k.machine_id

-- name: attempt_accept
-- Parallel arrays $1 jobs, $2 numbers. Requires that they are current. Accepting twice is accepting once.
WITH named AS (
  SELECT * FROM unnest($1::uuid[], $2::int[]) n (job_id, number)
), accepted AS (
  UPDATE attempt a SET accepted_at = now() FROM named n
  WHERE a.job_id = n.job_id AND a.number = n.number AND a.accepted_at IS NULL
)
UPDATE job j SET state = 'running' FROM named n WHERE j.id = n.job_id AND j.state = 'assigned'

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
            a.accepted_at, a.cpu_ms, a.price_micro_per_cpu_second, w.account_id AS owner_id, m.account_id AS earner_id, w.held
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
SELECT e.job_id, e.number, e.machine_session_id, s.market_id, s.ended_at IS NULL AS open
FROM ended e JOIN machine_session s ON s.id = e.machine_session_id

-- name: job_end
-- Parallel arrays $1 jobs, $2 states, $3 failure codes and $4 details, or nothing, $5 ids for the transfers. Requires that their
-- attempts have ended in an earlier statement, and job_tallies_lock if several of them are uploading. Pays the job's escrow to
-- the machine that earned it and returns the rest to the owner, now or when its settlement is closed.
WITH named AS (
  SELECT * FROM unnest($1::uuid[], $2::job_state[], $3::text[], $4::text[], $5::uuid[])
    n (job_id, state, failure_code, failure_detail, transfer_id)
), ended AS (
  UPDATE job j
  SET state = n.state, ended_at = now(), failure_code = nullif(n.failure_code, ''), failure_detail = nullif(n.failure_detail, ''),
      progress = CASE WHEN n.state = 'completed' THEN 1 ELSE j.progress END
  FROM named n WHERE j.id = n.job_id
  RETURNING j.id, j.account_id, j.attempt_number, n.transfer_id
), due AS (
  SELECT j.transfer_id, j.id AS job_id, e.id AS escrow_id, e.balance_micro AS held, coalesce(a.paid_micro, 0) AS pay,
         owner.id AS owner_id, earner.id AS earner_id
  FROM ended j
  CROSS JOIN LATERAL (
    SELECT id, balance_micro FROM ledger_account WHERE job_id = j.id AND kind = 'escrow' AND balance_micro > 0 LIMIT 1) e
  JOIN ledger_account owner ON owner.account_id = j.account_id AND owner.kind = 'user'
  LEFT JOIN attempt a ON a.job_id = j.id AND a.number = j.attempt_number AND a.paid_micro > 0
  LEFT JOIN machine m ON m.id = a.machine_id
  LEFT JOIN ledger_account earner ON earner.account_id = m.account_id AND earner.kind = 'user'
  WHERE NOT EXISTS (SELECT FROM settlement s WHERE s.job_id = j.id)
), transfer AS (
  INSERT INTO ledger_transfer (id, idempotency_key, reason, job_id)
  SELECT transfer_id, 'settle:' || job_id, CASE WHEN pay > 0 THEN 'pay' ELSE 'release' END::ledger_reason, job_id FROM due
)
INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
SELECT transfer_id, escrow_id, -held FROM due
UNION ALL
SELECT transfer_id, owner_id, held - pay FROM due WHERE held > pay
UNION ALL
SELECT transfer_id, earner_id, pay FROM due WHERE pay > 0

-- name: job_requeue
-- $1 jobs, $2 the column that counts these attempts or '', $3 how many of them are too many. Requires that their attempts have
-- ended. A job with too many is not requeued.
UPDATE job SET state = 'queued', progress = NULL, progress_message = NULL,
               losses = losses + ($2::text = 'losses')::int, hand_backs = hand_backs + ($2::text = 'hand_backs')::int
WHERE id = ANY($1::uuid[])
  AND CASE $2::text WHEN '' THEN true WHEN 'losses' THEN losses + 1 < $3::int WHEN 'hand_backs' THEN hand_backs + 1 < $3::int END
RETURNING id

-- name: attempt_files_insert
-- Small files that came with outcomes. Requires job_storages_lock. Parallel arrays $1 jobs, $2 attempts, $3 roles, $4 paths, $5 contents. Those of the same
-- name that the attempt brought before are replaced by attempt_files_replaced, an earlier statement.
INSERT INTO job_file (job_id, account_id, attempt_number, role, path, size_bytes, inline_bytes)
SELECT f.job_id, j.account_id, f.attempt_number, f.role, f.path, octet_length(f.bytes), f.bytes
FROM unnest($1::uuid[], $2::int[], $3::job_file_role[], $4::text[], $5::bytea[]) f (job_id, attempt_number, role, path, bytes)
JOIN job j ON j.id = f.job_id
ORDER BY j.account_id

-- name: attempt_files_replaced
-- Parallel arrays $1 jobs, $2 attempts, $3 roles, $4 paths: the same files, and all that earlier attempts brought. Requires
-- job_storages_lock.
DELETE FROM job_file f USING unnest($1::uuid[], $2::int[], $3::job_file_role[], $4::text[]) n (job_id, attempt_number, role, path)
WHERE f.job_id = n.job_id AND f.attempt_number IS NOT NULL
  AND (f.attempt_number < n.attempt_number OR (f.role = n.role AND f.path = n.path))

-- name: attempt_files_release
-- $1 storages, $2 at most so many. Deletes files of attempts whose jobs were requeued. Requires storages_lock.
WITH due AS (
  SELECT f.job_id, f.role, f.path FROM storage s
  JOIN attempt a ON a.job_id = s.job_id AND a.number = s.attempt_number AND attempt_requeues(a.outcome)
  JOIN job_file f ON f.job_id = s.job_id AND f.attempt_number = s.attempt_number
  WHERE s.id = ANY($1::uuid[]) LIMIT $2::int FOR UPDATE OF f SKIP LOCKED
)
DELETE FROM job_file f USING due d WHERE f.job_id = d.job_id AND f.role = d.role AND f.path = d.path
RETURNING 1
