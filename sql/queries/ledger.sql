-- name: ledger_audit
-- Every invariant of the ledger, in the order in which a break of one explains the next: its name, and what breaks it
-- (null when nothing does).
SELECT 'every transfer has two or more entries that sum to zero' AS invariant,
       (SELECT 'transfer ' || t.id || ' sums to ' || coalesce(sum(e.amount_micro), 0) || ' over ' || count(e.*) || ' entries'
        FROM ledger_transfer t LEFT JOIN ledger_entry e ON e.transfer_id = t.id
        GROUP BY t.id HAVING count(e.*) < 2 OR sum(e.amount_micro) <> 0 LIMIT 1) AS broken_by
UNION ALL
SELECT 'all entries sum to zero',
       (SELECT 'they sum to ' || sum(amount_micro) FROM ledger_entry HAVING sum(amount_micro) <> 0)
UNION ALL
SELECT 'every balance is the sum of its entries',
       (SELECT 'ledger account ' || a.id || ' holds ' || a.balance_micro || ', its entries sum to ' || coalesce(s.amount, 0)
        FROM ledger_account a
        LEFT JOIN (SELECT ledger_account_id, sum(amount_micro) AS amount FROM ledger_entry GROUP BY 1) s
          ON s.ledger_account_id = a.id
        WHERE a.kind IN ('user', 'escrow') AND a.balance_micro <> coalesce(s.amount, 0) LIMIT 1)
UNION ALL
SELECT 'no balance is below zero',
       (SELECT 'ledger account ' || id || ' holds ' || balance_micro FROM ledger_account WHERE balance_micro < 0 LIMIT 1)
UNION ALL
SELECT 'every account has one purse',
       (SELECT 'account ' || a.id FROM account a
        WHERE NOT EXISTS (SELECT FROM ledger_account l WHERE l.account_id = a.id AND l.kind = 'user') LIMIT 1)
UNION ALL
SELECT 'a job that was submitted and has not ended holds its price, less what its attempts were paid',
       (SELECT 'job ' || j.id || ' of price ' || j.price_micro || ' holds ' || coalesce(e.balance_micro, 0) || ' and has paid ' || p.paid
        FROM job j LEFT JOIN ledger_account e ON e.job_id = j.id AND e.kind = 'escrow'
        CROSS JOIN LATERAL (SELECT coalesce(sum(a.paid_micro), 0) AS paid FROM attempt a WHERE a.job_id = j.id) p
        WHERE j.state IN ('queued', 'assigned', 'running') AND coalesce(e.balance_micro, 0) <> j.price_micro - p.paid LIMIT 1)
UNION ALL
SELECT 'a job that has ended or was never submitted holds nothing, unless it is yet to be settled',
       (SELECT 'job ' || e.job_id || ' holds ' || e.balance_micro
        FROM ledger_account e LEFT JOIN job j ON j.id = e.job_id
        WHERE e.kind = 'escrow' AND e.balance_micro <> 0
          AND (j.id IS NULL OR j.state NOT IN ('queued', 'assigned', 'running'))
          AND NOT EXISTS (SELECT FROM settlement s WHERE s.job_id = e.job_id) LIMIT 1)
UNION ALL
SELECT 'a job that is yet to be settled has ended and holds something',
       (SELECT 'job ' || s.job_id || ' holds ' || coalesce(e.balance_micro, 0)
        FROM settlement s LEFT JOIN ledger_account e ON e.job_id = s.job_id AND e.kind = 'escrow'
        LEFT JOIN job j ON j.id = s.job_id
        WHERE coalesce(e.balance_micro, 0) = 0 OR j.state NOT IN ('cancelled', 'expired') LIMIT 1)
UNION ALL
SELECT 'what an account holds in escrow is what its jobs hold',
       (SELECT 'purse ' || u.id || ' holds ' || u.held_micro || ', its jobs ' || coalesce(e.held, 0)
        FROM ledger_account u
        LEFT JOIN (SELECT holder_id, sum(balance_micro) AS held FROM ledger_account WHERE holder_id IS NOT NULL GROUP BY 1) e
          ON e.holder_id = u.id
        WHERE u.kind = 'user' AND u.held_micro <> coalesce(e.held, 0) LIMIT 1)
UNION ALL
SELECT 'the mint has given what everybody else holds',
       (SELECT 'the mint gave ' || -m.amount || ', the others hold ' || o.amount
        FROM (SELECT coalesce(sum(e.amount_micro), 0) AS amount FROM ledger_entry e
              JOIN ledger_account a ON a.id = e.ledger_account_id WHERE a.kind = 'mint') m,
             (SELECT (SELECT coalesce(sum(balance_micro), 0) FROM ledger_account)
                   + (SELECT coalesce(sum(e.amount_micro), 0) FROM ledger_entry e
                      JOIN ledger_account a ON a.id = e.ledger_account_id WHERE a.kind = 'fee') AS amount) o
        WHERE m.amount + o.amount <> 0)

-- name: ledger_statement
-- $1 token hash, $2 page (1 …), $3 rows a page. What came into and went out of the caller's purse, newest first.
-- No row: the token is not valid. A row without a transfer: nothing (more) to show.
SELECT c.id AS caller, s.* FROM user_caller($1) c LEFT JOIN LATERAL (
  SELECT t.id AS transfer, t.reason, t.job_id, e.amount_micro, utc_text(t.created_at) AS at
  FROM ledger_account l JOIN ledger_entry e ON e.ledger_account_id = l.id JOIN ledger_transfer t ON t.id = e.transfer_id
  WHERE l.account_id = c.id AND l.kind = 'user'
  ORDER BY e.transfer_id DESC LIMIT $3::int + 1 OFFSET ($2::int - 1) * $3::int
) s ON true
