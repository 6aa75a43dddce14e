-- name: outbox_claim
-- $1 at most so many, $2 for so many milliseconds, $3 the claim's id. Rows that another publisher is claiming are passed
-- over.
UPDATE outbox SET claimed_until = now() + make_interval(secs => $2::float8 / 1000), claimed_by = $3::uuid
WHERE id IN (SELECT id FROM outbox WHERE claimed_until < now() ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED)
RETURNING id, message_id, routing_key, body::text AS body, mandatory, coalesce(request_id::text, '') AS request_id

-- name: outbox_delete
-- $1 ids that the broker has confirmed, $2 the claim's id
DELETE FROM outbox WHERE id = ANY ($1::bigint[]) AND claimed_by = $2::uuid

-- name: outbox_postpone
-- $1 ids that were claimed and not confirmed, $2 the claim's id: anybody may claim them after a while that doubles with
-- every try, from a quarter of a second to a minute
UPDATE outbox SET tries = tries + 1, claimed_until = now() + make_interval(secs => least(60, 0.25 * 2 ^ least(tries, 10)))
WHERE id = ANY ($1::bigint[]) AND claimed_by = $2::uuid

-- name: outbox_depth
SELECT count(*) AS waiting, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest_seconds
FROM outbox

-- name: outbox_put
-- Parallel arrays $1 message ids, $2 routing keys, $3 bodies; $4 claim or null, $5 for so many milliseconds. With a claim the
-- writer publishes them itself; if it dies, another publisher can claim them later.
INSERT INTO outbox (message_id, routing_key, body, claimed_by, claimed_until)
SELECT m.message_id, m.routing_key, m.body, $4::uuid,
       CASE WHEN $4::uuid IS NULL THEN '-infinity' ELSE now() + make_interval(secs => $5::float8 / 1000) END
FROM unnest($1::uuid[], $2::text[], $3::jsonb[]) m (message_id, routing_key, body)
RETURNING id
