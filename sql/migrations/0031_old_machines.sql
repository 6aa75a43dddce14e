-- Removed machines and ended machine sessions are deleted when nothing names them any more. Their foreign keys are then checked by
-- these indexes, which also find open attempts, as the partial ones did that they replace.

DROP INDEX attempt_live_of_machine;
DROP INDEX attempt_of_machine_session;
CREATE INDEX attempt_of_machine ON attempt (machine_id, ended_at);
CREATE INDEX attempt_of_machine_session ON attempt (machine_session_id, ended_at);
CREATE INDEX machine_session_of_machine ON machine_session (machine_id);
CREATE INDEX machine_removed ON machine (removed_at) WHERE removed_at IS NOT NULL;
