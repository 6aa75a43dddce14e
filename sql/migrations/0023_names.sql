-- One word for one thing: a login token, a machine session, a watched record, an evicted session. Processes of an older
-- version must have stopped.

ALTER TABLE session_token RENAME TO login_token;
ALTER TABLE login_token RENAME CONSTRAINT session_token_pkey TO login_token_pkey;
ALTER TABLE login_token RENAME CONSTRAINT session_token_expires_later TO login_token_expires_later;
ALTER TABLE login_token RENAME CONSTRAINT session_token_hash_is_sha256 TO login_token_hash_is_sha256;
ALTER TABLE login_token RENAME CONSTRAINT session_token_account_id_fkey TO login_token_account_id_fkey;
ALTER TABLE login_token RENAME CONSTRAINT session_token_machine_id_fkey TO login_token_machine_id_fkey;
ALTER INDEX session_token_by_expiry RENAME TO login_token_by_expiry;
ALTER INDEX session_token_of_account RENAME TO login_token_of_account;
ALTER INDEX session_token_of_machine RENAME TO login_token_of_machine;

CREATE OR REPLACE FUNCTION user_caller(token bytea) RETURNS TABLE (id uuid, role account_role) LANGUAGE sql STABLE AS $$
  SELECT a.id, a.role FROM login_token t JOIN account a ON a.id = t.account_id
  WHERE t.token_hash = token AND t.machine_id IS NULL AND t.expires_at > now() AND a.disabled_at IS NULL
$$;
CREATE OR REPLACE FUNCTION machine_caller(token bytea) RETURNS TABLE (id uuid, account_id uuid) LANGUAGE sql STABLE AS $$
  SELECT m.id, m.account_id
  FROM login_token t JOIN machine m ON m.id = t.machine_id JOIN account a ON a.id = m.account_id
  WHERE t.token_hash = token AND t.expires_at > now() AND m.removed_at IS NULL AND m.banned_at IS NULL AND a.disabled_at IS NULL
$$;

ALTER TABLE attempt RENAME COLUMN session_id TO machine_session_id;
ALTER TABLE attempt RENAME CONSTRAINT attempt_session_id_fkey TO attempt_machine_session_id_fkey;
ALTER INDEX attempt_of_session RENAME TO attempt_of_machine_session;
ALTER TABLE heartbeat RENAME COLUMN session_id TO machine_session_id;

ALTER TABLE machine_session RENAME COLUMN barred TO evicted;
ALTER INDEX machine_session_barred RENAME TO machine_session_evicted;

ALTER TYPE partial_kind RENAME TO watched_kind;
ALTER FUNCTION partial_result_charge(bigint) RENAME TO watched_record_charge;
ALTER TABLE partial_result RENAME TO watched_record;
ALTER TABLE watched_record RENAME CONSTRAINT partial_result_pkey TO watched_record_pkey;
ALTER TABLE watched_record RENAME CONSTRAINT partial_result_counts TO watched_record_counts;
ALTER TABLE watched_record RENAME CONSTRAINT partial_result_is_of_its_kind TO watched_record_is_of_its_kind;
ALTER TABLE watched_record RENAME CONSTRAINT partial_result_size_is_true TO watched_record_size_is_true;
ALTER TABLE watched_record RENAME CONSTRAINT partial_result_job_id_variable_fkey TO watched_record_job_id_variable_fkey;
ALTER TABLE partial_result_chunk RENAME TO watched_record_chunk;
ALTER TABLE watched_record_chunk RENAME CONSTRAINT partial_result_chunk_pkey TO watched_record_chunk_pkey;
ALTER TABLE watched_record_chunk
  RENAME CONSTRAINT partial_result_chunk_job_id_variable_sequence_fkey TO watched_record_chunk_job_id_variable_sequence_fkey;
ALTER TABLE watched_record_chunk RENAME CONSTRAINT partial_result_chunk_sha256_fkey TO watched_record_chunk_sha256_fkey;
ALTER INDEX partial_result_chunk_of_blob RENAME TO watched_record_chunk_of_blob;

-- A variable may have no records left: those of lost attempts are deleted when the history is full.
ALTER TABLE watched_variable DROP CONSTRAINT watched_variable_counts;
ALTER TABLE watched_variable ADD CONSTRAINT watched_variable_counts CHECK (
  newest_sequence > 0 AND newest_attempt > 0 AND newest_number > 0 AND live_sequence BETWEEN 0 AND newest_sequence
  AND records >= 0 AND bytes >= 0);
