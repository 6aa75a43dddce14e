#include "market/store/checkpoints.h"

#include "core/json.h"
#include "core/limits.h"
#include "core/pg/statement.h"
#include "market/store/caller_params.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

std::string text_of(const CheckpointPosition& position) {
  return nlohmann::json{{"file", position.file}, {"line", position.line}, {"call", position.call}}.dump();
}

}  // namespace

Result<CheckpointCaller> checkpoint_caller(pg::Connection& db, const UserOrAttempt& caller, JobId job) {
  const auto rows = pg::read(db, sql::checkpoint_caller, caller_params(caller, job));
  if (rows.empty()) return no_valid_token();
  const auto& row = rows[0];
  if (row["stale"].as<bool>()) return stale_attempt();
  if (!row["may"].as<bool>()) return no_such_job(job);
  if (!caller.attempt) return refuse(Code::forbidden, "this is for the machine that runs the job");
  return CheckpointCaller{.attempt = {job, caller.attempt->number},
                          .resumable = row["resumable"].as<bool>(),
                          .storage = row["storage_id"].as<std::optional<std::string>>(),
                          .watched = pg::texts_of(row["watched_variables"]),
                          .said_resumed = row["said"].as<bool>()};
}

void create_checkpoint_storage(pg::Connection& db, const UserOrAttempt& caller) {
  pg::write(db, sql::storage_of_checkpoints, caller_params(caller));
}

RecordedCheckpoint recorded_checkpoint(pg::Connection& db, const protocol::AttemptName& attempt, int number) {
  const auto row =
      pg::read(db, sql::checkpoint_recorded, pqxx::params{attempt.job.text(), attempt.number, number})
          .one_row();
  return {row["sequence"].as<std::optional<int>>(), row["newest"].as<int>()};
}

int insert_checkpoint(pg::Connection& db, const protocol::AttemptName& attempt,
                      const CheckpointManifest& manifest) {
  pqxx::params params{
      attempt.job.text(),         attempt.number,          manifest.number,   manifest.format,
      manifest.r_version,         manifest.architecture,   manifest.packages, manifest.state_bytes,
      manifest.size_bytes,        manifest.sent_bytes,     manifest.pause_ms, manifest.interval_ms,
      text_of(manifest.position), manifest.attempt_cpu_ms, manifest.age_ms};
  const auto& progress = manifest.progress;
  params.append(progress ? std::optional{progress->fraction} : std::nullopt);
  params.append(progress ? std::optional{progress->message} : std::nullopt);
  params.append(nlohmann::json(manifest.watched).dump());
  params.append(manifest.log_left_out);
  return pg::write(db, sql::checkpoint_record, params).one_field().as<int>();
}

std::optional<std::string> missing_chunk(pg::Connection& db, const std::optional<std::string>& storage,
                                         const CheckpointManifest& manifest) {
  auto chunks = manifest.chunks;
  if (manifest.log) chunks.push_back(*manifest.log);
  const auto rows = pg::read(db, sql::checkpoint_chunk_missing, pqxx::params{storage, bytea_array(chunks)});
  if (rows.empty()) return std::nullopt;
  return rows[0]["sha256"].as<std::string>();
}

void insert_checkpoint_chunks(pg::Connection& db, JobId job, int sequence,
                              const CheckpointManifest& manifest) {
  pqxx::params params{job.text(), sequence, bytea_array(manifest.chunks)};
  params.append(manifest.log ? std::optional{"\\x" + manifest.log->hex()} : std::nullopt);
  pg::write(db, sql::checkpoint_chunks_insert, params);
}

void delete_older_checkpoints(pg::Connection& db, JobId job) {
  pg::write(db, sql::checkpoint_delete_older, pqxx::params{job.text(), limits::kCheckpointsKept});
}

bool drop_oldest_checkpoint(pg::Connection& db, JobId job) {
  return !pg::write(db, sql::checkpoint_drop_oldest, pqxx::params{job.text()}).empty();
}

void end_unneeded_presences(pg::Connection& db, JobId job) {
  pg::write(db, sql::blob_presence_end_of_checkpoints, pqxx::params{job.text()});
}

void note_checkpoint(pg::Connection& db, JobId job, std::int64_t interval_ms,
                     const std::optional<std::string>& problem) {
  pg::write(db, sql::job_checkpoint_note, pqxx::params{job.text(), interval_ms, problem});
}

void release_checkpoints_of_ended_jobs(pg::Connection& db) {
  pg::write(db, sql::storage_released_sweep);
}

}  // namespace remotist::market
