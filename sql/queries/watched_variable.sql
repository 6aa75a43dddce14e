-- Watched variables: a row for each, with its newest sequence and the size of its history. The records are in watched_record.sql.

-- name: watched_records_supersede
-- $1 jobs whose attempts have ended and that are requeued. Marks all records as superseded, since no attempt resumes from a
-- checkpoint.
WITH watched AS (
  SELECT DISTINCT j.id, j.attempt_number FROM job j JOIN watched_variable w ON w.job_id = j.id WHERE j.id = ANY($1::uuid[])
), lost AS (
  UPDATE attempt a SET lost_from = '-infinity' FROM watched w WHERE a.job_id = w.id AND a.number = w.attempt_number
)
UPDATE watched_variable v SET live_sequence = 0 FROM watched w WHERE v.job_id = w.id

-- name: watched_records_held
-- $1 jobs that have an attempt, $2 records and $3 bytes at most, but no more bytes than job_history_quota(). Of the jobs whose
-- history exceeds that: their variables, those with two records or more first, then by their share of the excess.
-- has_older: the variable has two records or more; has_superseded: its oldest record is of an earlier attempt (superseded records
-- are always the oldest); beyond_quota: the history exceeds job_history_quota().
WITH held AS (
  SELECT w.job_id, sum(w.records) AS records, sum(w.bytes) AS bytes, job_history_quota(min(s.quota_bytes)) AS quota,
         max(j.attempt_number) AS attempt_number
  FROM watched_variable w JOIN job j ON j.id = w.job_id JOIN storage s ON s.job_id = j.id AND s.attempt_number = j.attempt_number
  WHERE w.job_id = ANY($1::uuid[]) GROUP BY w.job_id
)
SELECT w.job_id, w.variable, w.records > 1 AS has_older, h.bytes > h.quota AS beyond_quota,
       coalesce((SELECT r.attempt_number < h.attempt_number FROM watched_record r
                 WHERE r.job_id = w.job_id AND r.variable = w.variable ORDER BY r.sequence LIMIT 1), false) AS has_superseded
FROM held h JOIN watched_variable w ON w.job_id = h.job_id
WHERE h.records > $2::bigint OR h.bytes > least($3::bigint, h.quota)
ORDER BY w.job_id, w.records > 1 DESC, CASE WHEN h.records > $2::bigint THEN w.records ELSE w.bytes END DESC

-- name: watched_records_bytes
-- $1 job
SELECT coalesce(sum(bytes), 0)::bigint FROM watched_variable WHERE job_id = $1::uuid

-- name: watched_sequences
-- Parallel arrays $1 jobs, $2 variables. The newest sequence of each that has one, and whether its job has ended. Those whose
-- job is gone have no row.
SELECT k.position, coalesce(w.newest_sequence, 0) AS sequence, j.ended_at IS NOT NULL AS ended
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY k (job_id, variable, position)
JOIN job j ON j.id = k.job_id LEFT JOIN watched_variable w ON w.job_id = k.job_id AND w.variable = k.variable
