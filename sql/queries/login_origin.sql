-- The addresses from which accounts have logged in.

-- name: login_origin_known
-- $1 e-mail, $2 address, $3 days. Whether the account has logged in from that address.
SELECT EXISTS (SELECT FROM account a JOIN login_origin o ON o.account_id = a.id
               WHERE lower(a.email) = lower($1) AND o.address = $2::inet AND o.at > now() - make_interval(days => $3::int)) AS known

-- name: login_origin_record
-- $1 account, $2 address
INSERT INTO login_origin (account_id, address) VALUES ($1::uuid, $2::inet)
ON CONFLICT (account_id, address) DO UPDATE SET at = now()

-- name: login_origin_delete_old
-- $1 days, $2 at most so many
WITH old AS MATERIALIZED (
  SELECT account_id, address FROM login_origin WHERE at < now() - make_interval(days => $1::int)
  ORDER BY at LIMIT $2::int FOR UPDATE SKIP LOCKED
)
DELETE FROM login_origin l USING old o WHERE l.account_id = o.account_id AND l.address = o.address
