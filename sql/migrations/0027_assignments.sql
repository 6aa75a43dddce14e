-- An attempt's token is made by the market that sends the assignment, not by the worker that begins the attempt, so that it is
-- never in a message and so never in the outbox. Until then the attempt has none. That is null, and not the hash of something
-- unknown: a comparison with null is never true, so no token fits by any mistake, and a look at the row tells whether one was made.
ALTER TABLE attempt
  ALTER COLUMN token_hash DROP NOT NULL,
  ADD CONSTRAINT attempt_that_was_accepted_has_a_token CHECK (accepted_at IS NULL OR token_hash IS NOT NULL);

-- Of the HTTP request that submitted the job: the log lines about it have it, wherever they are written.
ALTER TABLE job ADD COLUMN request_id uuid;

-- What a machine is told of an attempt; its files are read by job_small_files().
CREATE VIEW assignment AS
SELECT a.job_id, a.number, a.machine_session_id, a.token_hash, a.ended_at, j.exec_file, j.cpu_cores, j.ram_mb, j.disc_mb,
       cpu_ms_bought(j.price_micro, a.price_micro_per_cpu_second) AS cpu_ms_max, utc_text(j.deadline) AS deadline,
       j.watched_variables, j.request_id
FROM attempt a JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number;

-- Messages that wait while the markets are stopped: those to markets hold tokens, and their queues are gone; those of single jobs
-- have the old form.
DELETE FROM outbox WHERE routing_key LIKE 'market.%';
UPDATE outbox SET body = jsonb_build_object('jobs', jsonb_build_array(body -> 'job')) WHERE routing_key = 'jobs.ready' AND body ? 'job';
