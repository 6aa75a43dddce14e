#include "market/store/watched_records.h"

#include <set>

#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "market/store/caller_params.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

RecordingAttempt recording_attempt_of(const pqxx::row& row) {
  return {row["storage_id"].as<std::string>(), pg::texts_of(row["watched_variables"])};
}

bool is_inline(const WatchedRecord& record) {
  return record.kind == WatchedKind::value && record.chunks.empty();
}

pqxx::params params_of(const std::vector<NewRecord>& records) {
  const auto each = [&](auto value_of) {
    return pg::array_of(records, [&](const NewRecord& one) { return value_of(*one.record); });
  };
  using Record = const WatchedRecord&;
  return {pg::uuid_array(records, [](const NewRecord& one) { return one.attempt.job; }),
          each([](Record one) { return one.variable; }),
          pg::array_of(records, [](const NewRecord& one) { return one.attempt.number; }),
          each([](Record one) { return one.number; }),
          each([](Record one) { return one.changes; }),
          pg::array_of(records, &NewRecord::at_ms),
          each([](Record one) { return std::string{name_of(one.kind)}; }),
          each([](Record one) {
            return is_inline(one) ? static_cast<std::int64_t>(one.bytes.size()) : one.size;
          }),
          each([](Record one) { return pg::bytea_text(one.bytes); }),
          each(is_inline),
          each([](Record one) { return one.words; })};
}

void insert_chunks(pg::Connection& db, const std::vector<NewRecord>& records,
                   const RecordSequences& sequences) {
  std::set<RecordSequences::key_type> done;
  for (const auto& [attempt, record, at_ms] : records) {
    if (record->chunks.empty()) continue;
    const RecordSequences::key_type key{attempt.job, record->variable, record->number};
    const auto found = sequences.find(key);
    if (found == sequences.end() || !done.insert(key).second) continue;
    pg::write(
        db, sql::watched_record_chunks_insert,
        pqxx::params{attempt.job.text(), record->variable, found->second, bytea_array(chunks_of(*record))});
  }
}

}  // namespace

std::vector<std::optional<RecordingAttempt>> recording_attempts(pg::Connection& db,
                                                                const std::vector<NamedAttempt>& attempts) {
  std::vector<std::optional<RecordingAttempt>> recording(attempts.size());
  const auto rows = pg::read(
      db, sql::watched_attempts,
      pqxx::params{
          pg::uuid_array(attempts, [](const NamedAttempt& each) { return each.name.job; }),
          pg::array_of(attempts, [](const NamedAttempt& each) { return each.name.number; }),
          pg::array_of(attempts,
                       [](const NamedAttempt& each) { return pg::bytea_text(each.token_hash.value()); }),
          pg::uuid_array(attempts, &NamedAttempt::machine)});
  for (const auto& row : rows) recording[row["position"].as<std::size_t>() - 1] = recording_attempt_of(row);
  return recording;
}

Result<RecordingAttempt> recording_attempt(pg::Connection& db, const UserOrAttempt& caller, JobId job) {
  const auto rows = pg::read(db, sql::watched_attempt, caller_params(caller, job));
  if (rows.empty()) return no_valid_token();
  if (rows[0]["storage_id"].is_null()) return stale_attempt();
  return recording_attempt_of(rows[0]);
}

std::vector<ChunkName> chunks_of(const WatchedRecord& record) {
  std::vector<ChunkName> chunks;
  for (const auto& name : record.chunks) chunks.push_back(ChunkName::parse(name).value());
  return chunks;
}

RecordSequences insert_records(pg::Connection& db, const std::vector<NewRecord>& records) {
  RecordSequences sequences;
  if (records.empty()) return sequences;
  for (const auto& row : pg::write(db, sql::watched_records_insert, params_of(records))) {
    sequences.emplace(
        RecordSequences::key_type{JobId::parse(row["job_id"].view()).value(),
                                  row["variable"].as<std::string>(), row["number"].as<std::int64_t>()},
        row["sequence"].as<std::int64_t>());
  }
  insert_chunks(db, records, sequences);
  return sequences;
}

std::vector<ExcessVariable> excess_variables(pg::Connection& db, const std::vector<JobId>& jobs,
                                             std::int64_t records_max, std::int64_t bytes_max) {
  const std::set<JobId> each{jobs.begin(), jobs.end()};
  std::vector<ExcessVariable> variables;
  for (const auto& row :
       pg::read(db, sql::watched_records_held, pqxx::params{pg::uuid_array(each), records_max, bytes_max})) {
    variables.push_back({.job = JobId::parse(row["job_id"].view()).value(),
                         .variable = row["variable"].as<std::string>(),
                         .has_older = row["has_older"].as<bool>(),
                         .has_superseded = row["has_superseded"].as<bool>(),
                         .beyond_quota = row["beyond_quota"].as<bool>()});
  }
  return variables;
}

std::int64_t history_bytes(pg::Connection& db, JobId job) {
  return pg::read(db, sql::watched_records_bytes, pqxx::params{job.text()}).one_field().as<std::int64_t>();
}

bool delete_superseded(pg::Connection& db, JobId job, const std::string& variable) {
  return pg::write(db, sql::watched_records_drop_superseded, pqxx::params{job.text(), variable})
             .affected_rows() > 0;
}

bool thin(pg::Connection& db, JobId job, const std::string& variable) {
  return pg::write(db, sql::watched_records_thin, pqxx::params{job.text(), variable}).affected_rows() > 0;
}

}  // namespace remotist::market
