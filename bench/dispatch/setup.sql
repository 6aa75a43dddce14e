-- People and machines of a benchmark: accounts that can pay for anything, and others that lend. Their tokens are known:
-- 'bench-user-N' and 'bench-machine-N'. psql variables: accounts, machines, cores.

CREATE SCHEMA IF NOT EXISTS bench;
CREATE TABLE bench.person AS
  SELECT n, gen_random_uuid() AS account_id, gen_random_uuid() AS purse_id, gen_random_uuid() AS transfer_id
  FROM generate_series(1, :accounts) n;
CREATE TABLE bench.lent AS
  SELECT n, gen_random_uuid() AS machine_id, (SELECT account_id FROM bench.person p WHERE p.n = 1 + m.n % :accounts) AS account_id
  FROM generate_series(1, :machines) m (n);

INSERT INTO account (id, email, password_hash) SELECT account_id, 'bench' || n || '@example.org', 'none' FROM bench.person;
INSERT INTO ledger_account (id, kind, account_id) SELECT purse_id, 'user', account_id FROM bench.person;
INSERT INTO ledger_transfer (id, idempotency_key, reason) SELECT transfer_id, 'bench:' || n, 'grant' FROM bench.person;
INSERT INTO ledger_entry (transfer_id, ledger_account_id, amount_micro)
  SELECT transfer_id, purse_id, 100000000000 FROM bench.person
  UNION ALL
  SELECT transfer_id, (SELECT id FROM ledger_account WHERE kind = 'mint'), -100000000000 FROM bench.person;
INSERT INTO login_token (token_hash, account_id, expires_at)
  SELECT sha256(convert_to('bench-user-' || n, 'UTF8')), account_id, now() + interval '1 day' FROM bench.person;

INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, price_micro_per_cpu_second)
  SELECT machine_id, account_id, 'bench' || n, :cores, :cores * 1024, :cores * 1024, n % 7 FROM bench.lent;
INSERT INTO login_token (token_hash, account_id, machine_id, expires_at)
  SELECT sha256(convert_to('bench-machine-' || n, 'UTF8')), account_id, machine_id, now() + interval '1 day' FROM bench.lent;
