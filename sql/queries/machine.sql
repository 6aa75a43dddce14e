-- Machines.

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
       utc_text(m.created_at) AS created_at, 'offline' AS state, NULL AS seen_at, NULL AS ban_reason
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

-- name: machine_lock
-- $1 token hash, $2 machine. Locks the machine's row, for its owner, until the end of the transaction, so that it is assigned
-- no job. No row: the token is not valid. A row without an id: no such machine. ban_reason: it is banned.
WITH caller AS (
  SELECT id FROM user_caller($1)
), found AS (
  SELECT m.id, m.ban_reason FROM caller c JOIN machine m ON m.id = $2::uuid AND m.account_id = c.id AND m.removed_at IS NULL
  FOR UPDATE OF m
)
SELECT c.id AS caller, f.id, f.ban_reason FROM caller c LEFT JOIN found f ON true

-- name: machine_remove
-- $1 machine. Requires machine_session_lock and machine_lock in earlier statements of the transaction. It is no longer lent, its session and its
-- tokens end. No row: it has a job, and stays.
WITH removed AS (
  UPDATE machine SET removed_at = now()
  WHERE id = $1::uuid AND NOT EXISTS (SELECT FROM attempt a WHERE a.machine_id = $1::uuid AND a.ended_at IS NULL)
  RETURNING id
), gone AS (
  UPDATE machine_session s SET ended_at = now() FROM removed r WHERE s.machine_id = r.id AND s.ended_at IS NULL
), ended AS (
  DELETE FROM login_token t USING removed r WHERE t.machine_id = r.id
)
SELECT id FROM removed

-- name: machine_start
-- $1 machine, $2 hash of its new token, $3 its lifetime in seconds, $4 the machine's public key or null. Requires
-- machine_lock in an earlier statement of the transaction. Every older token of the machine ends.
WITH ended AS (
  DELETE FROM login_token WHERE machine_id = $1::uuid
), found AS (
  UPDATE machine SET public_key = $4::bytea WHERE id = $1::uuid RETURNING id, account_id
)
INSERT INTO login_token (token_hash, account_id, machine_id, expires_at)
SELECT $2::bytea, account_id, id, now() + make_interval(secs => $3::int) FROM found
RETURNING account_id, utc_text(created_at) AS issued_at, utc_text(expires_at) AS expires_at

-- name: machine_set_software
-- $1 machine, $2 R version, $3 architecture, $4 packages: what its hello says. Most say what they said before.
UPDATE machine SET r_version = $2, architecture = $3, packages = $4::text[]
WHERE id = $1::uuid AND (r_version, architecture, packages) IS DISTINCT FROM ($2, $3, $4::text[])

-- name: machine_pause
-- $1 token hash, $2 machine or null, $3 whether to pause it. For its owner, or for the machine itself, which may omit $2. A
-- pause takes effect at once; its end with the machine's next beat. No row: the token is not valid. A row without an id: no
-- such machine for this caller.
WITH caller AS (
  SELECT id, NULL::uuid AS machine_id FROM user_caller($1)
  UNION ALL
  SELECT account_id, id FROM machine_caller($1)
), session AS MATERIALIZED (
  SELECT s.id FROM caller c JOIN machine m ON m.id = coalesce($2::uuid, c.machine_id) AND m.account_id = c.id
  JOIN machine_session s ON s.machine_id = m.id AND s.ended_at IS NULL FOR NO KEY UPDATE OF s
), found AS (
  UPDATE machine m SET paused = $3::boolean FROM caller c
  WHERE m.id = coalesce($2::uuid, c.machine_id) AND m.account_id = c.id AND m.removed_at IS NULL
    AND (c.machine_id IS NULL OR c.machine_id = m.id)
    AND (SELECT count(*) FROM session) >= 0  -- the session's row is locked first
  RETURNING m.id
), told AS (
  UPDATE machine_session s SET taking_jobs = false FROM found f
  WHERE $3::boolean AND s.machine_id = f.id AND s.ended_at IS NULL
)
SELECT c.id AS caller, f.id FROM caller c LEFT JOIN found f ON true

-- name: machine_health
-- $1 token hash. How many machines of the account are in each state; for a machine's token, of itself alone. No row: the
-- token is not valid.
WITH caller AS (
  SELECT id, NULL::uuid AS machine_id FROM user_caller($1)
  UNION ALL
  SELECT account_id, id FROM machine_caller($1)
)
SELECT c.id AS caller, count(*) FILTER (WHERE m.state = 'idle') AS idle, count(*) FILTER (WHERE m.state = 'busy') AS busy,
       count(*) FILTER (WHERE m.state = 'paused') AS paused, count(*) FILTER (WHERE m.state = 'offline') AS offline,
       count(*) FILTER (WHERE m.state = 'banned') AS banned
FROM caller c LEFT JOIN machine_shown m ON m.account_id = c.id AND (c.machine_id IS NULL OR c.machine_id = m.id)
GROUP BY c.id
