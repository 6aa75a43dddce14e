-- The history of watched variables. Recording and thinning lock the job's row (job_rows_lock), so that sequences are assigned
-- in order and the attempt cannot end meanwhile, and then the storages (job_storages_lock).

-- name: watched_attempts
-- Parallel arrays $1 jobs, $2 numbers, $3 token hashes, $4 machines. The positions (1 …) of those that match and are current,
-- with their jobs' watched variables and the attempts' storages.
SELECT k.position, j.watched_variables, s.id AS storage_id
FROM unnest($1::uuid[], $2::int[], $3::bytea[], $4::uuid[]) WITH ORDINALITY k (job_id, number, token_hash, machine_id, position)
JOIN job j ON j.id = k.job_id AND j.attempt_number = k.number
JOIN attempt a ON a.job_id = k.job_id AND a.number = k.number
JOIN storage s ON s.job_id = k.job_id AND s.attempt_number = k.number
WHERE a.outcome IS NULL AND a.token_hash = k.token_hash AND a.machine_id = k.machine_id

-- name: watched_attempt
-- $1 token hash, $2 job, $3 attempt, $4 attempt token hash: the same for one that calls over REST. No row: the token is not
-- valid. storage_id is null when the attempt is not the current one.
SELECT j.watched_variables, s.id AS storage_id
FROM attempt_caller($1, $2::uuid, $3::int, $4) c LEFT JOIN job j ON c.current AND j.id = $2::uuid
LEFT JOIN storage s ON c.current AND s.job_id = $2::uuid AND s.attempt_number = $3::int

-- name: watched_records_insert
-- Parallel arrays $1 jobs, $2 variables, $3 attempts, $4 numbers, $5 changes, $6 when (milliseconds of 1970), $7 kinds, $8 sizes,
-- $9 contents, $10 whether they are inline, $11 words. New records get the variable's next sequences; repeated ones are
-- ignored. A variable's times never decrease, nor precede its attempt.
WITH said AS (
  SELECT DISTINCT ON (job_id, variable, number) *
  FROM unnest($1::uuid[], $2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::watched_kind[], $8::bigint[],
              $9::bytea[], $10::boolean[], $11::text[])
    r (job_id, variable, attempt_number, number, changes, at_ms, kind, size_bytes, bytes, is_inline, words)
  ORDER BY job_id, variable, number
), fresh AS (
  SELECT s.*, j.account_id, coalesce(w.newest_sequence, 0) + row_number() OVER variable AS sequence,
         date_trunc('milliseconds', greatest(w.newest_at, a.assigned_at, max('epoch'::timestamptz + s.at_ms * interval '1 millisecond') OVER variable)) AS changed_at
  FROM said s JOIN job j ON j.id = s.job_id JOIN attempt a ON a.job_id = s.job_id AND a.number = s.attempt_number
  LEFT JOIN watched_variable w ON w.job_id = s.job_id AND w.variable = s.variable
  WHERE w.job_id IS NULL OR (s.attempt_number, s.number) > (w.newest_attempt, w.newest_number)
  WINDOW variable AS (PARTITION BY s.job_id, s.variable ORDER BY s.number)
), noted AS (
  INSERT INTO watched_variable AS w (job_id, variable, account_id, newest_sequence, newest_attempt, newest_number, newest_at,
                                     live_sequence, records, bytes)
  SELECT job_id, variable, account_id, max(sequence), max(attempt_number), max(number), max(changed_at), max(sequence),
         count(*), sum(watched_record_charge(size_bytes))
  FROM fresh GROUP BY job_id, variable, account_id ORDER BY account_id
  ON CONFLICT (job_id, variable) DO UPDATE
  SET newest_sequence = excluded.newest_sequence, newest_attempt = excluded.newest_attempt,
      newest_number = excluded.newest_number, newest_at = excluded.newest_at, live_sequence = excluded.live_sequence,
      records = w.records + excluded.records, bytes = w.bytes + excluded.bytes
), recorded AS (
  INSERT INTO watched_record (job_id, variable, sequence, attempt_number, number, changes, changed_at, kind, size_bytes,
                              inline_bytes, words)
  SELECT job_id, variable, sequence, attempt_number, number, changes, changed_at, kind, size_bytes,
         CASE WHEN is_inline THEN bytes END, nullif(words, '')
  FROM fresh
)
SELECT job_id, variable, number, sequence FROM fresh

-- name: watched_record_chunks_insert
-- $1 job, $2 variable, $3 sequence, $4 chunks in order
INSERT INTO watched_record_chunk (job_id, variable, sequence, position, sha256)
SELECT $1::uuid, $2, $3::bigint, c.position - 1, c.sha256 FROM unnest($4::bytea[]) WITH ORDINALITY c (sha256, position)

-- name: watched_records_drop_superseded
-- $1 job, $2 variable. Deletes the variable's superseded records. No row is changed when it has none.
WITH gone AS (
  DELETE FROM watched_record r USING attempt a
  WHERE r.job_id = $1::uuid AND r.variable = $2 AND a.job_id = r.job_id AND a.number = r.attempt_number
    AND record_is_superseded(a.kept_records, r.variable, r.number)
  RETURNING r.size_bytes
)
UPDATE watched_variable w SET records = w.records - g.records, bytes = w.bytes - g.bytes
FROM (SELECT count(*) AS records, sum(watched_record_charge(size_bytes)) AS bytes FROM gone) g
WHERE w.job_id = $1::uuid AND w.variable = $2 AND g.records > 0

-- name: watched_records_thin
-- $1 job, $2 variable. Deletes every second record of the older half; the next one takes over its changes, if it is of the
-- same attempt, and is marked. The newest record is kept, the newest that is not superseded, and the value that the variable had
-- at each usable checkpoint. Rows are found again by ctid: by their keys the planner, which expects few, would use a nested loop.
WITH placed AS (
  SELECT ctid AS row, sequence, attempt_number, number, changes, row_number() OVER ordered AS place, count(*) OVER () AS records,
         lead(ctid) OVER ordered AS next_row
  FROM watched_record WHERE job_id = $1::uuid AND variable = $2 WINDOW ordered AS (ORDER BY sequence)
), saved AS (
  SELECT max(p.sequence) AS sequence
  FROM checkpoint c JOIN placed p ON p.attempt_number = c.attempt_number AND p.number <= (c.watched ->> $2)::bigint
  WHERE c.job_id = $1::uuid AND c.unusable_because IS NULL GROUP BY c.sequence
), odd AS (
  SELECT * FROM placed WHERE place % 2 = 1 AND place <= greatest(records / 2, 1) AND records > 1
    AND sequence <> (SELECT live_sequence FROM watched_variable WHERE job_id = $1::uuid AND variable = $2)
    AND sequence NOT IN (SELECT s.sequence FROM saved s)
), gone AS (
  DELETE FROM watched_record p USING odd o WHERE p.ctid = o.row RETURNING p.size_bytes
), kept AS (
  UPDATE watched_record p
  SET thinned = true, changes = CASE WHEN o.attempt_number <> p.attempt_number THEN p.changes
                                     WHEN o.changes = 0 OR p.changes = 0 THEN 0 ELSE o.changes + p.changes END
  FROM odd o WHERE p.ctid = o.next_row
)
UPDATE watched_variable w SET records = w.records - g.records, bytes = w.bytes - g.bytes
FROM (SELECT count(*) AS records, sum(watched_record_charge(size_bytes)) AS bytes FROM gone) g
WHERE w.job_id = $1::uuid AND w.variable = $2 AND g.records > 0

-- name: watched_newest
-- $1 token hash, $2 job, $3 variable. No row: the token is not valid. watched is null when there is no such job for this
-- caller, sequence when there is no value; newest: the sequence after which something new may come.
SELECT j.account_id, $3 = ANY(j.watched_variables) AS watched, j.ended_at IS NOT NULL AS ended,
       coalesce(w.newest_sequence, 0) AS newest, p.sequence, p.changes, utc_text(p.changed_at) AS at, p.kind, p.size_bytes,
       p.inline_bytes, p.words, p.thinned, false AS superseded,
       CASE WHEN p.kind = 'value' AND p.inline_bytes IS NULL THEN ARRAY(
         SELECT encode(c.sha256, 'hex') FROM watched_record_chunk c
         WHERE c.job_id = p.job_id AND c.variable = p.variable AND c.sequence = p.sequence ORDER BY c.position) END AS chunks
FROM user_caller($1) c LEFT JOIN job j ON j.id = $2::uuid AND j.account_id = c.id
LEFT JOIN watched_variable w ON w.job_id = j.id AND w.variable = $3
LEFT JOIN watched_record p ON p.job_id = w.job_id AND p.variable = w.variable AND p.sequence = w.live_sequence

-- name: watched_small_value
-- $1 token hash, $2 job, $3 variable. The newest value that was not lost, if it is small: what is asked for most. No row: it is
-- large, there is none, or no such thing for this caller; watched_newest knows.
SELECT p.sequence, p.changes, utc_text(p.changed_at) AS at, p.kind, p.size_bytes, p.inline_bytes, p.words, p.thinned,
       false AS superseded, NULL::text[] AS chunks
FROM user_caller($1) c JOIN watched_variable w ON w.job_id = $2::uuid AND w.variable = $3 AND w.account_id = c.id
JOIN watched_record p ON p.job_id = $2::uuid AND p.variable = $3 AND p.sequence = w.live_sequence
WHERE p.inline_bytes IS NOT NULL

-- name: watched_history
-- $1 token hash, $2 job, $3 variable; $4 … $5 sequences and $6 … $7 moments, each or null; $8 page (1 …), $9 rows a page,
-- $10 bytes a page. Oldest first, and one row more than a page if there is one. within: it belongs to the page; what comes when
-- the page has its bytes does not, and is without its value. As watched_newest answers; also what was lost with its attempt.
SELECT j.account_id, $3 = ANY(j.watched_variables) AS watched, p.*
FROM user_caller($1) c LEFT JOIN job j ON j.id = $2::uuid AND j.account_id = c.id
LEFT JOIN LATERAL (
  SELECT w.sequence, w.changes, utc_text(w.changed_at) AS at, w.kind, w.size_bytes, w.words, w.thinned, w.superseded, w.within,
         CASE WHEN w.within THEN w.inline_bytes END AS inline_bytes,
         CASE WHEN w.within AND w.kind = 'value' AND w.inline_bytes IS NULL THEN ARRAY(
           SELECT encode(k.sha256, 'hex') FROM watched_record_chunk k
           WHERE k.job_id = w.job_id AND k.variable = w.variable AND k.sequence = w.sequence ORDER BY k.position) END AS chunks
  FROM (
    SELECT r.*, sum(r.weight) OVER (ORDER BY r.sequence) - r.weight < $10::bigint AS within
    FROM (
      SELECT p.*, record_is_superseded(a.kept_records, p.variable, p.number) AS superseded,
             300 + coalesce(octet_length(p.words), 0) + CASE WHEN p.inline_bytes IS NOT NULL THEN p.size_bytes * 4 / 3 ELSE 67 * (
               SELECT count(*) FROM watched_record_chunk k
               WHERE k.job_id = p.job_id AND k.variable = p.variable AND k.sequence = p.sequence) END AS weight
      FROM watched_record p JOIN attempt a ON a.job_id = p.job_id AND a.number = p.attempt_number
      WHERE p.job_id = j.id AND p.variable = $3
        AND p.sequence >= coalesce($4::bigint, 0) AND p.sequence <= coalesce($5::bigint, 9223372036854775807)
        AND ($6::timestamptz IS NULL OR p.changed_at >= $6::timestamptz)
        -- Moments are shown in whole milliseconds: what is shown as the last one belongs to it.
        AND ($7::timestamptz IS NULL OR p.changed_at < $7::timestamptz + interval '1 ms')
      ORDER BY p.sequence LIMIT $9::int + 1 OFFSET ($8::int - 1) * $9::int
    ) r
  ) w
  ORDER BY w.sequence
) p ON true

-- name: watched_at
-- $1 token hash, $2 job, $3 variable, $4 moment. What the variable was at the end of that millisecond. As watched_newest answers; also what was lost
-- with its attempt.
SELECT j.account_id, $3 = ANY(j.watched_variables) AS watched, p.*
FROM user_caller($1) c LEFT JOIN job j ON j.id = $2::uuid AND j.account_id = c.id
LEFT JOIN LATERAL (
  SELECT p.sequence, p.changes, utc_text(p.changed_at) AS at, p.kind, p.size_bytes, p.inline_bytes, p.words, p.thinned,
         record_is_superseded(a.kept_records, p.variable, p.number) AS superseded,
         CASE WHEN p.kind = 'value' AND p.inline_bytes IS NULL THEN ARRAY(
           SELECT encode(k.sha256, 'hex') FROM watched_record_chunk k
           WHERE k.job_id = p.job_id AND k.variable = p.variable AND k.sequence = p.sequence ORDER BY k.position) END AS chunks
  FROM watched_record p JOIN attempt a ON a.job_id = p.job_id AND a.number = p.attempt_number
  WHERE p.job_id = j.id AND p.variable = $3
    AND p.changed_at < $4::timestamptz + interval '1 ms'
  ORDER BY p.sequence DESC LIMIT 1
) p ON true

-- name: watched_list
-- $1 token hash, $2 job. Each watched variable in the order in which the job names them, with its newest record's sequence and
-- so on if it has one. No row: the token is not valid. account_id is null when there is no such job for this caller.
SELECT j.account_id, v.variable, p.sequence, p.changes, utc_text(p.changed_at) AS at, p.kind, p.size_bytes,
       coalesce(w.records, 0) AS records
FROM user_caller($1) c LEFT JOIN job j ON j.id = $2::uuid AND j.account_id = c.id
LEFT JOIN LATERAL unnest(j.watched_variables) WITH ORDINALITY v (variable, place) ON true
LEFT JOIN watched_variable w ON w.job_id = j.id AND w.variable = v.variable
LEFT JOIN watched_record p ON p.job_id = w.job_id AND p.variable = w.variable AND p.sequence = w.live_sequence
ORDER BY v.place
