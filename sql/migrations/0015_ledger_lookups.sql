-- What the ledger checks and locks for new entries is looked up row by row, whatever the planner thinks of tables that were empty
-- when it last looked: as a join it could read every entry there is for each that is new.
CREATE OR REPLACE FUNCTION ledger_entry_apply() RETURNS trigger LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  wrong uuid;
BEGIN
  SELECT transfer_id INTO wrong FROM fresh GROUP BY transfer_id HAVING sum(amount_micro) <> 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the entries of transfer % do not sum to zero', wrong
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transfer_sums_to_zero', TABLE = 'ledger_entry';
  END IF;
  SELECT f.transfer_id INTO wrong
    FROM (SELECT transfer_id, count(*) AS entries FROM fresh GROUP BY 1) f
    CROSS JOIN LATERAL (SELECT count(*) AS entries FROM ledger_entry e WHERE e.transfer_id = f.transfer_id) e
    WHERE e.entries <> f.entries LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'transfer % was made by an earlier statement and takes no more entries', wrong
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transfer_is_final', TABLE = 'ledger_entry';
  END IF;
  -- Locked in one order everywhere, so that two transfers over the same accounts wait instead of deadlocking.
  PERFORM 1 FROM (SELECT DISTINCT ledger_account_id AS id FROM fresh ORDER BY 1) f
    CROSS JOIN LATERAL (
      SELECT FROM ledger_account a WHERE a.id = f.id AND a.kind IN ('user', 'escrow') FOR NO KEY UPDATE) a;
  UPDATE ledger_account a SET balance_micro = a.balance_micro + s.amount
    FROM (SELECT ledger_account_id, sum(amount_micro)::bigint AS amount FROM fresh GROUP BY 1) s
    WHERE a.id = s.ledger_account_id AND a.kind IN ('user', 'escrow');
  RETURN NULL;
END $$;
