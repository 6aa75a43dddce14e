-- Credits, double entry. A transfer has two or more entries that sum to zero; both are only ever inserted.
-- A balance is changed by nothing but the trigger below, so it is the sum of its entries by construction, and no
-- interleaving of transactions can bring it below zero.

CREATE TYPE ledger_kind AS ENUM ('mint', 'fee', 'user', 'escrow');

CREATE TABLE ledger_account (
  id            uuid PRIMARY KEY,
  kind          ledger_kind NOT NULL,
  account_id    uuid REFERENCES account,
  job_id        uuid,  -- no reference: the ledger outlives a deleted job
  balance_micro bigint NOT NULL DEFAULT 0,
  created_at    timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT ledger_balance_is_not_negative CHECK (balance_micro >= 0),
  CONSTRAINT ledger_account_has_the_right_owner CHECK (
    CASE kind
      WHEN 'user'   THEN account_id IS NOT NULL AND job_id IS NULL
      WHEN 'escrow' THEN account_id IS NULL AND job_id IS NOT NULL
      ELSE account_id IS NULL AND job_id IS NULL
    END),
  -- A row that every transfer touches would serialise them all: mint and fee are summed when asked for.
  CONSTRAINT ledger_mint_and_fee_store_no_balance CHECK (kind IN ('user', 'escrow') OR balance_micro = 0)
);

CREATE UNIQUE INDEX ledger_account_of_user ON ledger_account (account_id) WHERE kind = 'user';
CREATE UNIQUE INDEX ledger_account_of_job ON ledger_account (job_id) WHERE kind = 'escrow';
CREATE UNIQUE INDEX ledger_account_mint_and_fee_exist_once ON ledger_account (kind) WHERE kind IN ('mint', 'fee');

INSERT INTO ledger_account (id, kind) VALUES
  ('00000000-0000-7000-8000-000000000001', 'mint'),
  ('00000000-0000-7000-8000-000000000002', 'fee');

CREATE TYPE ledger_reason AS ENUM ('grant', 'hold', 'release', 'pay', 'fee', 'correction');

CREATE TABLE ledger_transfer (
  id              uuid PRIMARY KEY,
  idempotency_key text NOT NULL,
  reason          ledger_reason NOT NULL,
  job_id          uuid,
  created_at      timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT ledger_transfer_happens_once UNIQUE (idempotency_key)
);

CREATE INDEX ledger_transfer_of_job ON ledger_transfer (job_id) WHERE job_id IS NOT NULL;

CREATE TABLE ledger_entry (
  transfer_id       uuid NOT NULL REFERENCES ledger_transfer,
  ledger_account_id uuid NOT NULL REFERENCES ledger_account,
  amount_micro      bigint NOT NULL,
  PRIMARY KEY (transfer_id, ledger_account_id),
  CONSTRAINT ledger_entry_moves_something CHECK (amount_micro <> 0)
);

CREATE INDEX ledger_entry_of_account ON ledger_entry (ledger_account_id, transfer_id);

-- All entries of a transfer are inserted by one statement; this runs once for that statement.
CREATE FUNCTION ledger_entry_apply() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  wrong uuid;
BEGIN
  SELECT transfer_id INTO wrong FROM fresh GROUP BY transfer_id HAVING sum(amount_micro) <> 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the entries of transfer % do not sum to zero', wrong
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transfer_sums_to_zero', TABLE = 'ledger_entry';
  END IF;
  SELECT f.transfer_id INTO wrong
    FROM fresh f JOIN ledger_entry e USING (transfer_id)
    GROUP BY f.transfer_id
    HAVING count(DISTINCT f.ledger_account_id) <> count(DISTINCT e.ledger_account_id) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'transfer % was made by an earlier statement and takes no more entries', wrong
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transfer_is_final', TABLE = 'ledger_entry';
  END IF;
  -- Locked in one order everywhere, so that two transfers over the same accounts wait instead of deadlocking.
  PERFORM 1 FROM ledger_account
    WHERE kind IN ('user', 'escrow') AND id IN (SELECT ledger_account_id FROM fresh)
    ORDER BY id FOR NO KEY UPDATE;
  UPDATE ledger_account a SET balance_micro = a.balance_micro + s.amount
    FROM (SELECT ledger_account_id, sum(amount_micro)::bigint AS amount FROM fresh GROUP BY 1) s
    WHERE a.id = s.ledger_account_id AND a.kind IN ('user', 'escrow');
  RETURN NULL;
END $$;

CREATE TRIGGER ledger_entry_applies AFTER INSERT ON ledger_entry
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_apply();

CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only: write a correction instead'
    USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_is_append_only', TABLE = TG_TABLE_NAME;
END $$;

CREATE TRIGGER ledger_entry_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
CREATE TRIGGER ledger_transfer_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfer
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();

-- Outside the trigger above a balance is read-only, and an account begins with nothing.
CREATE FUNCTION ledger_balance_is_derived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a balance changes only by ledger entries'
    USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_balance_is_derived', TABLE = 'ledger_account';
END $$;

CREATE TRIGGER ledger_balance_stays BEFORE UPDATE ON ledger_account
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ledger_balance_is_derived();
CREATE TRIGGER ledger_account_starts_empty BEFORE INSERT ON ledger_account
  FOR EACH ROW WHEN (NEW.balance_micro <> 0) EXECUTE FUNCTION ledger_balance_is_derived();
