#include "market/store/watched_history.h"

#include <utility>

#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "market/store/caller.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

// What every statement here answers first.
std::optional<Refusal> refusal_in(const pqxx::result& rows, JobId job) {
  if (rows.empty()) return no_valid_token();
  if (!rows[0]["account_id"].is_null()) return std::nullopt;
  return refuse(Code::not_found, "there is no job " + job.text() + " of yours");
}

std::optional<Refusal> refusal_in(const pqxx::result& rows, JobId job, std::string_view variable) {
  if (auto refusal = refusal_in(rows, job)) return refusal;
  if (rows[0]["watched"].as<bool>()) return std::nullopt;
  return refuse(Code::not_found, "the job does not watch " + std::string{variable});
}

StoredRecord record_without_value(const pqxx::row& row) {
  return {.sequence = row["sequence"].as<std::int64_t>(),
          .changes = row["changes"].as<std::int64_t>(),
          .at = row["at"].as<std::string>(),
          .kind = watched_kind_named(row["kind"].view()).value(),
          .size = row["size_bytes"].as<std::int64_t>()};
}

StoredRecord result_of(const pqxx::row& row) {
  auto result = record_without_value(row);
  if (!row["inline_bytes"].is_null()) result.bytes = pg::text_of(row["inline_bytes"]);
  if (!row["chunks"].is_null()) result.chunks = pg::texts_of(row["chunks"]);
  result.words = row["words"].as<std::optional<std::string>>();
  result.thinned = row["thinned"].as<bool>();
  result.superseded = row["superseded"].as<bool>();
  return result;
}

}  // namespace

Result<NewestStoredRecord> newest_record(pg::Connection& db, std::string_view token_hash, JobId job,
                                         std::string_view variable) {
  const auto rows =
      pg::read(db, sql::watched_newest, pqxx::params{pg::bytes_of(token_hash), job.text(), variable});
  if (auto refusal = refusal_in(rows, job, variable)) return *refusal;
  const auto row = rows[0];
  NewestStoredRecord newest{.account = AccountId::parse(row["account_id"].view()).value(),
                            .ended = row["ended"].as<bool>(),
                            .newest = row["newest"].as<std::int64_t>(),
                            .result = {}};
  if (!row["sequence"].is_null()) newest.result = result_of(row);
  return newest;
}

std::optional<StoredRecord> small_newest_record(pg::Connection& db, std::string_view token_hash, JobId job,
                                                std::string_view variable) {
  const auto rows =
      pg::read(db, sql::watched_small_value, pqxx::params{pg::bytes_of(token_hash), job.text(), variable});
  if (rows.empty()) return std::nullopt;
  return result_of(rows[0]);
}

Result<std::optional<StoredRecord>> record_at(pg::Connection& db, std::string_view token_hash, JobId job,
                                              std::string_view variable, const std::string& timestamp) {
  const auto rows =
      pg::read(db, sql::watched_at, pqxx::params{pg::bytes_of(token_hash), job.text(), variable, timestamp});
  if (auto refusal = refusal_in(rows, job, variable)) return *refusal;
  if (rows[0]["sequence"].is_null()) return std::optional<StoredRecord>{};
  return std::optional{result_of(rows[0])};
}

Result<HistoryPage> record_history(pg::Connection& db, std::string_view token_hash, JobId job,
                                   std::string_view variable, const HistoryRange& range, int page,
                                   int rows_a_page) {
  pqxx::params params{pg::bytes_of(token_hash), job.text(), variable};
  params.append(range.first);
  params.append(range.last);
  params.append(range.from);
  params.append(range.to);
  params.append(page);
  params.append(rows_a_page);
  params.append(limits::kPageBytesMax);
  const auto rows = pg::read(db, sql::watched_history, params);
  if (auto refusal = refusal_in(rows, job, variable)) return *refusal;
  HistoryPage listed{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (row["sequence"].is_null() || std::cmp_equal(listed.results.size(), rows_a_page)) break;
    if (!row["within"].as<bool>()) {
      listed.next = row["sequence"].as<std::int64_t>();
      listed.more = true;
      break;
    }
    listed.results.push_back(result_of(row));
  }
  return listed;
}

Result<std::vector<WatchedVariable>> watched_variables(pg::Connection& db, std::string_view token_hash,
                                                       JobId job) {
  const auto rows = pg::read(db, sql::watched_list, pqxx::params{pg::bytes_of(token_hash), job.text()});
  if (auto refusal = refusal_in(rows, job)) return *refusal;
  std::vector<WatchedVariable> watched;
  for (const auto& row : rows) {
    if (row["variable"].is_null()) break;
    auto& each = watched.emplace_back(row["variable"].as<std::string>(), row["records"].as<std::int64_t>());
    if (!row["sequence"].is_null()) each.newest = record_without_value(row);
  }
  return watched;
}

std::vector<std::optional<VariableState>> variable_states(
    pg::Connection& db, const std::vector<std::pair<JobId, std::string>>& variables) {
  std::vector<std::optional<VariableState>> states(variables.size());
  const auto rows = pg::read(db, sql::watched_sequences,
                             pqxx::params{pg::uuid_array(variables, &std::pair<JobId, std::string>::first),
                                          pg::array_of(variables, &std::pair<JobId, std::string>::second)});
  for (const auto& row : rows) {
    states[row["position"].as<std::size_t>() - 1] =
        VariableState{row["sequence"].as<std::int64_t>(), row["ended"].as<bool>()};
  }
  return states;
}

}  // namespace remotist::market
