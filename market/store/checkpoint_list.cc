#include "market/store/checkpoint_list.h"

#include "core/json.h"
#include "core/pg/statement.h"
#include "market/store/caller_params.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

CheckpointPosition position_of(const pqxx::row& row) {
  const auto position = json_in(row["position"].view());
  return {position.at("file"), position.at("line"), position.at("call")};
}

CheckpointManifest manifest_of(const pqxx::row& row) {
  CheckpointManifest manifest{.number = row["number"].as<int>(),
                              .format = row["format"].as<int>(),
                              .r_version = row["r_version"].as<std::string>(),
                              .architecture = row["architecture"].as<std::string>(),
                              .packages = pg::texts_of(row["packages"]),
                              .state_bytes = row["state_bytes"].as<std::int64_t>(),
                              .size_bytes = row["size_bytes"].as<std::int64_t>(),
                              .sent_bytes = row["sent_bytes"].as<std::int64_t>(),
                              .pause_ms = row["pause_ms"].as<double>(),
                              .interval_ms = row["interval_ms"].as<std::int64_t>(),
                              .position = position_of(row),
                              .attempt_cpu_ms = row["attempt_cpu_ms"].as<std::int64_t>(),
                              .age_ms = row["age_ms"].as<std::int64_t>(),
                              .progress = std::nullopt,
                              .watched = json_in(row["watched"].view()),
                              .log = std::nullopt,
                              .log_left_out = row["log_left_out"].as<std::int64_t>(),
                              .chunks = {}};
  if (!row["progress"].is_null())
    manifest.progress = {row["progress"].as<double>(), row["progress_message"].as<std::string>()};
  if (!row["log"].is_null()) manifest.log = ChunkName::parse(row["log"].view());
  return manifest;
}

KeptCheckpoint kept_checkpoint_of(const pqxx::row& row) {
  return {.sequence = row["sequence"].as<int>(),
          .attempt = row["attempt_number"].as<int>(),
          .at = row["at"].as<std::string>(),
          .size_bytes = row["size_bytes"].as<std::int64_t>(),
          .sent_bytes = row["sent_bytes"].as<std::int64_t>(),
          .pause_ms = row["pause_ms"].as<double>(),
          .position = position_of(row),
          .r_version = row["r_version"].as<std::string>(),
          .architecture = row["architecture"].as<std::string>(),
          .packages = pg::texts_of(row["packages"]),
          .cpu_ms = row["cpu_ms"].as<std::int64_t>(),
          .unusable_because = row["unusable_because"].as<std::optional<std::string>>()};
}

// What the statements for a machine answer first.
std::optional<Refusal> machine_refusal_in(const pqxx::result& rows) {
  if (rows.empty()) return no_valid_token();
  if (rows[0]["stale"].as<bool>()) return stale_attempt();
  return std::nullopt;
}

}  // namespace

Result<std::vector<UsableCheckpoint>> usable_checkpoints(pg::Connection& db, const UserOrAttempt& caller,
                                                         JobId job) {
  const auto rows = pg::read(db, sql::checkpoints_usable, caller_params(caller, job));
  if (auto refusal = machine_refusal_in(rows)) return *refusal;
  std::vector<UsableCheckpoint> checkpoints;
  for (const auto& row : rows) {
    if (row["sequence"].is_null()) break;
    checkpoints.push_back({.sequence = row["sequence"].as<int>(),
                           .attempt = row["attempt_number"].as<int>(),
                           .manifest = manifest_of(row),
                           .cpu_ms_max = row["cpu_ms_max"].as<std::optional<std::int64_t>>()});
  }
  return checkpoints;
}

Result<std::vector<std::string>> chunks_of_checkpoint(pg::Connection& db, const UserOrAttempt& caller,
                                                      JobId job, int sequence) {
  auto params = caller_params(caller, job);
  params.append(sequence);
  const auto rows = pg::read(db, sql::checkpoint_chunks, params);
  if (auto refusal = machine_refusal_in(rows)) return *refusal;
  if (rows[0]["chunks"].is_null())
    return refuse(Code::not_found, "the job has no usable checkpoint " + std::to_string(sequence));
  return pg::texts_of(rows[0]["chunks"]);
}

Result<std::vector<KeptCheckpoint>> kept_checkpoints(pg::Connection& db, std::string_view token_hash,
                                                     JobId job) {
  const auto rows = pg::read(db, sql::checkpoints_kept, pqxx::params{pg::bytes_of(token_hash), job.text()});
  if (rows.empty()) return no_valid_token();
  if (rows[0]["job_id"].is_null()) return no_such_job(job);
  std::vector<KeptCheckpoint> checkpoints;
  for (const auto& row : rows) {
    if (row["sequence"].is_null()) break;
    checkpoints.push_back(kept_checkpoint_of(row));
  }
  return checkpoints;
}

}  // namespace remotist::market
