-- Payments due for jobs that were stopped while a machine ran them. The statement that deletes a row makes its transfer, so
-- each is made once: when the machine reports its CPU time, or when its time is up.

-- name: settlement_due
-- $1 at most so many. Those whose machines have not reported in time; locks their jobs' rows. Skips locked jobs; includes
-- those whose job was deleted.
WITH due AS MATERIALIZED (
  SELECT job_id, attempt_number, machine_id FROM settlement WHERE settle_by < now() ORDER BY settle_by LIMIT $1::int
), held AS MATERIALIZED (
  SELECT j.id FROM job j WHERE j.id = ANY(ARRAY(SELECT job_id FROM due)) FOR NO KEY UPDATE SKIP LOCKED
)
SELECT job_id, attempt_number, machine_id FROM due d
WHERE EXISTS (SELECT FROM held h WHERE h.id = d.job_id) OR NOT EXISTS (SELECT FROM job j WHERE j.id = d.job_id)

-- name: settlement_close
-- Parallel arrays $1 jobs, $2 attempts, $3 machines, $4 hashes of the attempts' tokens (empty: its time is up), $5 CPU ms or -1
-- (what the last beat said), $6 ids for the transfers. Requires job_rows_lock: a job that is deleted meanwhile takes its
-- attempts with it. Those that are what they say are paid, within what the job holds and
-- the time that passed until it was stopped; the rest goes back to its owner.
WITH said AS (
  SELECT * FROM unnest($1::uuid[], $2::int[], $3::uuid[], $4::bytea[], $5::bigint[], $6::uuid[])
    n (job_id, attempt_number, machine_id, token_hash, cpu_ms, transfer_id)
), closed AS (
  DELETE FROM settlement s USING said n
  WHERE s.job_id = n.job_id AND s.attempt_number = n.attempt_number AND s.machine_id = n.machine_id
    AND s.token_hash = coalesce(nullif(n.token_hash, ''), s.token_hash)
  RETURNING s.job_id, s.attempt_number, s.owner_id, s.earner_id, s.price_micro_per_cpu_second, n.transfer_id,
            least(coalesce(nullif(n.cpu_ms, -1), s.cpu_ms), s.cpu_ms_max) AS cpu_ms
), due AS (
  SELECT c.*, e.id AS escrow_id, e.balance_micro AS held, owner.id AS owner_purse, earner.id AS earner_purse,
         trunc(least(e.balance_micro, c.cpu_ms::numeric * c.price_micro_per_cpu_second / 1000))::bigint AS pay
  FROM closed c JOIN ledger_account e ON e.job_id = c.job_id AND e.kind = 'escrow'
  JOIN ledger_account owner ON owner.account_id = c.owner_id AND owner.kind = 'user'
  JOIN ledger_account earner ON earner.account_id = c.earner_id AND earner.kind = 'user'
), noted AS (
  UPDATE attempt a SET cpu_ms = d.cpu_ms, paid_micro = d.pay FROM due d
  WHERE a.job_id = d.job_id AND a.number = d.attempt_number
), transfer AS (
  INSERT INTO ledger_transfer (id, idempotency_key, reason, job_id)
  SELECT transfer_id, 'settle:' || job_id, CASE WHEN pay > 0 THEN 'pay' ELSE 'release' END::ledger_reason, job_id FROM due
), entries AS (
  INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
  SELECT transfer_id, escrow_id, -held FROM due
  UNION ALL
  SELECT transfer_id, owner_purse, held - pay FROM due WHERE held > pay
  UNION ALL
  SELECT transfer_id, earner_purse, pay FROM due WHERE pay > 0
)
SELECT job_id FROM closed
