#include "market/store/attempt_list.h"

#include <utility>

#include "core/json.h"
#include "core/pg/statement.h"
#include "market/store/caller.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

ListedAttempt listed_attempt_of(const pqxx::row& row) {
  ListedAttempt attempt{.number = row["number"].as<int>(),
                        .machine = MachineId::parse(row["machine_id"].view()).value(),
                        .machine_name = row["machine_name"].as<std::optional<std::string>>(),
                        .assigned_at = row["assigned_at"].as<std::string>(),
                        .accepted_at = row["accepted_at"].as<std::optional<std::string>>(),
                        .ended_at = row["ended_at"].as<std::optional<std::string>>(),
                        .outcome = row["outcome"].as<std::optional<std::string>>(),
                        .cpu_ms = row["cpu_ms"].as<std::int64_t>(),
                        .paid_micro = row["paid_micro"].as<std::int64_t>(),
                        .saved_cpu_ms = row["saved_cpu_ms"].as<std::int64_t>(),
                        .resumed_from = row["resumed_from"].as<std::optional<int>>(),
                        .skipped = {},
                        .checkpoints = row["checkpoints"].as<int>()};
  for (const auto& each : json_in(row["skipped"].view()))
    attempt.skipped.push_back({each.at("sequence"), each.at("reason")});
  return attempt;
}

}  // namespace

Result<AttemptPage> list_attempts(pg::Connection& db, std::string_view token_hash, JobId job, int page,
                                  int rows_a_page) {
  const auto rows =
      pg::read(db, sql::attempts_list, pqxx::params{pg::bytes_of(token_hash), job.text(), page, rows_a_page});
  if (rows.empty()) return no_valid_token();
  if (rows[0]["job_id"].is_null()) return no_such_job(job);
  AttemptPage listed{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (row["number"].is_null() || std::cmp_equal(listed.attempts.size(), rows_a_page)) break;
    listed.attempts.push_back(listed_attempt_of(row));
  }
  return listed;
}

}  // namespace remotist::market
