-- name: outbox_claim
-- $1 at most so many, $2 for so many milliseconds. Rows that another publisher is claiming are passed over.
UPDATE outbox SET claimed_until = now() + make_interval(secs => $2::float8 / 1000)
WHERE id IN (SELECT id FROM outbox WHERE claimed_until < now() ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED)
RETURNING id, message_id, routing_key, body::text AS body, mandatory, coalesce(request_id::text, '') AS request_id

-- name: outbox_delete
-- $1 ids that the broker has confirmed
DELETE FROM outbox WHERE id = ANY ($1::bigint[])

-- name: outbox_release
-- $1 ids that were claimed but not sent: anybody may claim them at once
UPDATE outbox SET claimed_until = '-infinity' WHERE id = ANY ($1::bigint[])

-- name: outbox_depth
SELECT count(*) AS waiting, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest_seconds
FROM outbox
