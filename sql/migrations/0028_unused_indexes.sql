-- No query uses the first: what excludes a machine is found by job (job_exclusion). The second only told whether any job is
-- queued, which job_waiting tells as cheaply.

DROP INDEX attempt_lost_by_machine;
DROP INDEX job_waiting_by_rank;
