-- The audit log. In the first four: $1 action, $2 account or null, $3 address or null, $4 subject or null, $5 detail, $6
-- request id or null.

-- name: audit_record
INSERT INTO audit_event (action, account_id, address, subject, detail, request_id)
VALUES ($1, $2::uuid, $3::inet, $4, $5::jsonb, $6::uuid)

-- name: audit_record_login
-- Those of an account from one origin within an hour are one row: the first, with their number.
INSERT INTO audit_event (action, account_id, address, subject, detail, request_id)
VALUES ($1, $2::uuid, $3::inet, $4, $5::jsonb, $6::uuid)
ON CONFLICT (date_trunc('hour', at AT TIME ZONE 'UTC'), account_id, audit_origin(address)) WHERE action = 'login'
DO UPDATE SET count = audit_event.count + 1

-- name: audit_record_failure
INSERT INTO audit_event (action, account_id, address, subject, detail, request_id)
VALUES ($1, $2::uuid, $3::inet, lower($4), $5::jsonb, $6::uuid)
ON CONFLICT (date_trunc('minute', at AT TIME ZONE 'UTC'), action, address, coalesce(subject, ''))
  WHERE action IN ('login_failed', 'login_refused', 'register_refused')
DO UPDATE SET count = audit_event.count + 1

-- name: audit_record_refusal
-- A row: it is the first of its minute.
INSERT INTO audit_event (action, account_id, address, subject, detail, request_id)
SELECT $1, $2::uuid, $3::inet, $4, $5::jsonb, $6::uuid
WHERE NOT EXISTS (SELECT FROM audit_event
                  WHERE date_trunc('minute', at AT TIME ZONE 'UTC') = date_trunc('minute', now() AT TIME ZONE 'UTC')
                    AND action = $1 AND address = $3::inet AND coalesce(subject, '') = coalesce($4, '')
                    AND action IN ('login_failed', 'login_refused', 'register_refused'))
ON CONFLICT DO NOTHING
RETURNING 1

-- name: audit_list
-- $1 account (who did it, or to whom), $2 action, $3 address or network, $4 subject, $5 since, $6 until, each or null; $7 page
-- (1 …), $8 rows a page; newest first, one row more than a page if there is one. Requires admin_is.
SELECT id, utc_text(at) AS at, action, account_id, host(address) AS address, subject, detail, request_id, count
FROM audit_event
WHERE ($1::uuid IS NULL OR account_id = $1::uuid OR subject = $1::uuid::text) AND ($2::text IS NULL OR action = $2)
  AND ($3::inet IS NULL OR address <<= $3::inet) AND ($4::text IS NULL OR subject = $4)
  AND ($5::timestamptz IS NULL OR at >= $5::timestamptz) AND ($6::timestamptz IS NULL OR at < $6::timestamptz)
ORDER BY id DESC LIMIT $8::int + 1 OFFSET ($7::int - 1) * $8::int

-- name: audit_delete_old
-- $1 days, $2 at most so many
DELETE FROM audit_event WHERE id = ANY(ARRAY(
  SELECT id FROM audit_event WHERE at < now() - make_interval(days => $1::int) ORDER BY at LIMIT $2::int FOR UPDATE SKIP LOCKED))
