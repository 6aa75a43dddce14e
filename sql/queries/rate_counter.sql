-- Rate counters. Names are not case-sensitive.

-- name: rate_used_up
-- Parallel arrays $1 names, $2 limits. Whether one of them has reached its limit.
SELECT EXISTS (
  SELECT FROM unnest($1::text[], $2::int[]) n (name, most) LEFT JOIN rate_counter c ON c.name = lower(n.name) AND c.ends_at > now()
  WHERE coalesce(c.count, 0) >= n.most) AS used_up

-- name: rate_count
-- Parallel arrays $1 names, $2 limits, $3 seconds. Increments each that has not reached its limit; a row for each that was
-- incremented. In the order of their names, so that concurrent calls do not deadlock.
INSERT INTO rate_counter AS c (name, count, most, ends_at)
SELECT lower(n.name), 1, n.most, now() + make_interval(secs => n.seconds)
FROM unnest($1::text[], $2::int[], $3::int[]) n (name, most, seconds) WHERE n.most > 0 ORDER BY 1
ON CONFLICT (name) DO UPDATE
SET count = CASE WHEN c.ends_at > now() THEN c.count + 1 ELSE 1 END, most = excluded.most,
    ends_at = CASE WHEN c.ends_at > now() THEN c.ends_at ELSE excluded.ends_at END
WHERE c.ends_at <= now() OR c.count < excluded.most
RETURNING 1

-- name: rate_uncount
-- $1 names
WITH held AS (
  SELECT name FROM rate_counter WHERE name IN (SELECT lower(n) FROM unnest($1::text[]) n) ORDER BY name FOR UPDATE
)
UPDATE rate_counter c SET count = greatest(c.count - 1, 0) FROM held h WHERE c.name = h.name

-- name: rate_reset
-- $1 name
DELETE FROM rate_counter WHERE name = lower($1::text)

-- name: rate_delete_old
-- $1 at most so many
DELETE FROM rate_counter WHERE name = ANY(ARRAY(
  SELECT name FROM rate_counter WHERE ends_at < now() ORDER BY ends_at LIMIT $1::int FOR UPDATE SKIP LOCKED))
