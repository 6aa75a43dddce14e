-- Machines that are lent.

-- name: machine_create
-- $1 token hash, $2 id, $3 name, $4 cpu_cores, $5 ram_mb, $6 disc_mb, $7 micro-credits per CPU-second, $8 machines an account
-- may have. No row: the token is not valid. A row without an id: the account has too many.
WITH caller AS (
  SELECT id FROM user_caller($1)
), created AS (
  INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, price_micro_per_cpu_second)
  SELECT $2::uuid, c.id, $3, $4::int, $5::int, $6::int, $7::bigint FROM caller c
  WHERE (SELECT count(*) FROM machine m WHERE m.account_id = c.id AND m.removed_at IS NULL) < $8::int
  RETURNING *
)
SELECT c.id AS caller, m.id, m.account_id, m.name, m.cpu_cores, m.ram_mb, m.disc_mb, m.price_micro_per_cpu_second,
       utc_text(m.created_at) AS created_at, 'offline' AS state, NULL AS seen_at
FROM caller c LEFT JOIN created m ON true

-- name: machine_view
-- $1 token hash, $2 machine. The owner, an admin, or the machine itself. No row: the token is not valid. A row without an
-- id: no such machine for this caller.
WITH caller AS (
  SELECT id, role = 'admin' AS admin, NULL::uuid AS machine_id FROM user_caller($1)
  UNION ALL
  SELECT account_id, false, id FROM machine_caller($1)
)
SELECT c.id AS caller, m.*
FROM caller c LEFT JOIN machine_shown m
  ON m.id = $2::uuid AND (m.account_id = c.id OR c.admin) AND (c.machine_id IS NULL OR c.machine_id = m.id)

-- name: machine_list
-- $1 token hash, $2 page (1 …), $3 rows a page. Newest first, and one row more than a page if there is one. No row: the
-- token is not valid. A row without an id: nothing to show.
SELECT c.id AS caller, m.* FROM user_caller($1) c LEFT JOIN LATERAL (
  SELECT * FROM machine_shown WHERE account_id = c.id
  ORDER BY id DESC LIMIT $3::int + 1 OFFSET ($2::int - 1) * $3::int
) m ON true

-- name: machine_remove
-- $1 token hash, $2 machine. It is no longer lent, and its tokens end. busy: it has a job, and stays. No row: the token is
-- not valid.
WITH caller AS (
  SELECT id FROM user_caller($1)
), found AS (
  SELECT m.id, EXISTS (SELECT FROM attempt a WHERE a.machine_id = m.id AND a.ended_at IS NULL) AS busy
  FROM caller c JOIN machine m ON m.id = $2::uuid AND m.account_id = c.id AND m.removed_at IS NULL
  FOR NO KEY UPDATE OF m
), removed AS (
  UPDATE machine SET removed_at = now() FROM found f WHERE machine.id = f.id AND NOT f.busy RETURNING machine.id
), ended AS (
  DELETE FROM session_token t USING removed r WHERE t.machine_id = r.id
)
SELECT c.id AS caller, f.id, f.busy FROM caller c LEFT JOIN found f ON true

-- name: machine_start
-- $1 token hash, $2 machine, $3 hash of its new token, $4 its lifetime in seconds, $5 the machine's public key or null. Every
-- older token of the machine ends. No row: the token is not valid. A row without an id: no such machine.
WITH caller AS (
  SELECT id FROM user_caller($1)
), found AS (
  UPDATE machine m SET public_key = $5::bytea FROM caller c
  WHERE m.id = $2::uuid AND m.account_id = c.id AND m.removed_at IS NULL
  RETURNING m.id, m.account_id
), ended AS (
  DELETE FROM session_token t USING found f WHERE t.machine_id = f.id
), started AS (
  INSERT INTO session_token (token_hash, account_id, machine_id, expires_at)
  SELECT $3::bytea, account_id, id, now() + make_interval(secs => $4::int) FROM found
  RETURNING created_at, expires_at
)
SELECT c.id AS caller, f.id, utc_text(s.created_at) AS issued_at, utc_text(s.expires_at) AS expires_at
FROM caller c LEFT JOIN found f ON true LEFT JOIN started s ON true
