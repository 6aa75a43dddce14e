#include "market/store/watched_records.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/chunk.h"
#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/store/locks.h"
#include "market/store/caller_params.h"
#include "market/store/chunk_sizes.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

// An attempt that may record now.
struct Recorder {
  std::string storage;  // where its chunks are
  std::vector<std::string> watched;
};

// By index; none for those that are not current.
std::vector<std::optional<Recorder>> recorders_of(pg::Connection& db,
                                                  const std::vector<WatchedReport>& reports) {
  std::vector<std::optional<Recorder>> recorders(reports.size());
  const auto rows = pg::read(
      db, sql::watched_attempts,
      pqxx::params{
          pg::uuid_array(reports, [](const WatchedReport& each) { return each.attempt.job; }),
          pg::array_of(reports, [](const WatchedReport& each) { return each.attempt.number; }),
          pg::array_of(reports, [](const WatchedReport& each) { return pg::bytea_text(each.token_hash); }),
          pg::uuid_array(reports, &WatchedReport::machine)});
  for (const auto& row : rows) {
    recorders[row["position"].as<std::size_t>() - 1] =
        Recorder{row["storage_id"].as<std::string>(), pg::texts_of(row["watched_variables"])};
  }
  return recorders;
}

std::vector<ChunkName> chunks_of(const WatchedRecord& record) {
  std::vector<ChunkName> chunks;
  for (const auto& name : record.chunks) chunks.push_back(ChunkName::parse(name).value());
  return chunks;
}

// Holds the chunks until the end of the transaction.
Result<void> check_chunks(pg::Connection& db, const Recorder& recorder, const WatchedRecord& record) {
  const auto sizes = chunk_sizes(db, recorder.storage, chunks_of(record));
  std::int64_t size = 0;
  for (const auto& name : record.chunks) {
    const auto found = sizes.find(name);
    if (found == sizes.end()) {
      return refuse(Code::chunks_missing,
                    "chunk " + name + " of " + record.variable + " has not been uploaded by you", "chunks");
    }
    size += found->second;
  }
  if (size == record.size) return {};
  return refuse(Code::invalid_field,
                "size of " + record.variable + " is " + std::to_string(record.size) + ", its chunks have " +
                    std::to_string(size) + " bytes",
                "size");
}

Result<void> check(pg::Connection& db, const Recorder& recorder, const std::vector<WatchedRecord>& records) {
  for (const auto& record : records) {
    if (!std::ranges::contains(recorder.watched, record.variable))
      return refuse(Code::invalid_field, "the job does not watch " + record.variable, "variable");
    if (record.chunks.empty()) continue;
    if (auto checked = check_chunks(db, recorder, record); !checked) return checked;
  }
  return {};
}

// A report that may be recorded, and who tells it.
struct Admitted {
  const WatchedReport& report;
  Recorder recorder;
};

using Place = std::tuple<JobId, std::string, std::int64_t>;  // job, variable, number

// Gives the sequences of those that are new.
std::map<Place, std::int64_t> insert(pg::Connection& db, const std::vector<Admitted>& admitted) {
  std::vector<std::string> jobs, variables, kinds, contents, words;
  std::vector<int> attempts;
  std::vector<std::int64_t> numbers, changes, moments, sizes;
  std::vector<bool> inlined;
  for (const auto& [report, recorder] : admitted) {
    for (const auto& record : report.records) {
      jobs.push_back(report.attempt.job.text());
      variables.push_back(record.variable);
      attempts.push_back(report.attempt.number);
      numbers.push_back(record.number);
      changes.push_back(record.changes);
      moments.push_back(report.said_at_ms - record.age_ms);
      kinds.emplace_back(name_of(record.kind));
      const bool is_inline = record.kind == WatchedKind::value && record.chunks.empty();
      sizes.push_back(is_inline ? static_cast<std::int64_t>(record.bytes.size()) : record.size);
      contents.push_back(pg::bytea_text(record.bytes));
      inlined.push_back(is_inline);
      words.push_back(record.words);
    }
  }
  std::map<Place, std::int64_t> sequences;
  if (jobs.empty()) return sequences;
  const auto rows = pg::write(db, sql::watched_records_insert,
                              pqxx::params{jobs, variables, attempts, numbers, changes, moments, kinds, sizes,
                                           contents, inlined, words});
  for (const auto& row : rows) {
    sequences.emplace(Place{JobId::parse(row["job_id"].view()).value(), row["variable"].as<std::string>(),
                            row["number"].as<std::int64_t>()},
                      row["sequence"].as<std::int64_t>());
  }
  return sequences;
}

void insert_chunks(pg::Connection& db, const std::vector<Admitted>& admitted,
                   const std::map<Place, std::int64_t>& sequences) {
  std::set<Place> done;
  for (const auto& [report, recorder] : admitted) {
    for (const auto& record : report.records) {
      if (record.chunks.empty()) continue;
      const Place place{report.attempt.job, record.variable, record.number};
      const auto found = sequences.find(place);
      if (found == sequences.end() || !done.insert(place).second) continue;
      const auto job = report.attempt.job.text();
      pg::write(db, sql::watched_record_chunks_insert,
                pqxx::params{job, record.variable, found->second, bytea_array(chunks_of(record))});
    }
  }
}

// Deletes the records of lost attempts of one variable in each job that has any; returns those jobs.
std::set<std::string> drop_superseded(pg::Connection& db, const pqxx::result& variables) {
  std::set<std::string> dropped;
  for (const auto& row : variables) {
    const auto job = row["job_id"].as<std::string>();
    if (!row["has_superseded"].as<bool>() || dropped.contains(job)) continue;
    const pqxx::params params{job, row["variable"].as<std::string>()};
    if (pg::write(db, sql::watched_records_drop_superseded, params).affected_rows() > 0) dropped.insert(job);
  }
  return dropped;
}

// Reduces the histories of these jobs until they fit: first the records of lost attempts are deleted, then
// the variables that exceed most are thinned, down to their newest values. Throws ConstraintViolated when the
// newest values of the current attempts alone exceed half of a job's share.
void thin(pg::Connection& db, const std::vector<std::string>& jobs, std::int64_t records_max,
          std::int64_t bytes_max) {
  for (;;) {
    const auto variables =
        pg::read(db, sql::watched_records_held, pqxx::params{jobs, records_max, bytes_max});
    auto reduced = drop_superseded(db, variables);
    bool too_large = false;
    for (const auto& row : variables) {
      const auto job = row["job_id"].as<std::string>();
      if (reduced.contains(job)) continue;
      const pqxx::params params{job, row["variable"].as<std::string>()};
      if (row["has_older"].as<bool>() &&
          pg::write(db, sql::watched_records_thin, params).affected_rows() > 0) {
        reduced.insert(job);
      } else {
        too_large |= row["beyond_quota"].as<bool>();
      }
    }
    if (!reduced.empty()) continue;
    if (too_large) throw pg::ConstraintViolated{kHistoryFits, "the newest values of a job are too large"};
    return;
  }
}

std::vector<std::string> jobs_of(const std::vector<Admitted>& admitted) {
  std::set<std::string> jobs;
  for (const auto& each : admitted) jobs.insert(each.report.attempt.job.text());
  return {jobs.begin(), jobs.end()};
}

std::vector<NewestRecord> newest_of(const WatchedReport& report,
                                    const std::map<Place, std::int64_t>& sequences) {
  std::map<std::string, std::int64_t> newest;
  for (const auto& record : report.records) {
    const auto found = sequences.find({report.attempt.job, record.variable, record.number});
    if (found == sequences.end()) continue;
    auto& sequence = newest[record.variable];
    sequence = std::max(sequence, found->second);
  }
  std::vector<NewestRecord> all;
  for (const auto& [variable, sequence] : newest) all.push_back({report.attempt.job, variable, sequence});
  return all;
}

// Requires that the jobs are held.
std::map<Place, std::int64_t> put(pg::Connection& db, const std::vector<Admitted>& admitted) {
  if (admitted.empty()) return {};
  store::lock_storages(db,
                       pg::array_of(admitted, [](const Admitted& each) { return each.report.attempt.job; }));
  for (const auto& [report, recorder] : admitted) {
    std::vector<ChunkName> chunks;
    for (const auto& record : report.records) {
      const auto named = chunks_of(record);
      chunks.insert(chunks.end(), named.begin(), named.end());
    }
    name_chunks(db, recorder.storage, chunks, true);
  }
  auto sequences = insert(db, admitted);
  insert_chunks(db, admitted, sequences);
  if (!sequences.empty()) thin(db, jobs_of(admitted), limits::kHistoryRecordsMax, limits::kHistoryBytesMax);
  return sequences;
}

std::vector<WatchedResult> record(pg::Connection& db, const std::vector<WatchedReport>& reports) {
  store::lock_jobs(db, pg::array_of(reports, [](const WatchedReport& each) { return each.attempt.job; }));
  auto recorders = recorders_of(db, reports);
  std::vector<WatchedResult> results;
  std::vector<Admitted> admitted;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!recorders[i]) {
      results.emplace_back(stale_attempt());
    } else if (const auto checked = check(db, *recorders[i], reports[i].records); !checked) {
      results.emplace_back(checked.refusal());
    } else {
      results.emplace_back(std::vector<NewestRecord>{});
      admitted.push_back({reports[i], std::move(*recorders[i])});
    }
  }
  const auto sequences = put(db, admitted);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (results[i]) results[i] = newest_of(reports[i], sequences);
  }
  return results;
}

}  // namespace

std::vector<WatchedResult> record_watched(pg::Connection& db, const std::vector<WatchedReport>& reports) {
  return db.transact([&] { return record(db, reports); });
}

WatchedResult record_watched_after_thinning(pg::Connection& db, const WatchedReport& report) {
  try {
    return db.transact([&]() -> WatchedResult {
      const auto job = report.attempt.job;
      store::lock_jobs(db, {job});
      // Only who may record may thin.
      if (!recorders_of(db, {report}).front()) return stale_attempt();
      store::lock_storages(db, {job});
      const auto held = pg::read(db, sql::watched_records_bytes, pqxx::params{job.text()});
      thin(db, {job.text()}, limits::kHistoryRecordsMax, held.one_field().as<std::int64_t>() / 2);
      return std::move(record(db, {report}).front());
    });
  } catch (const pg::ConstraintViolated& violated) {
    if (auto refusal = quota_refusal(violated.constraint())) return *refusal;
    throw;
  }
}

WatchedResult record_watched(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                             const std::vector<WatchedRecord>& records, std::int64_t said_at_ms) {
  try {
    return db.transact([&]() -> WatchedResult {
      store::lock_jobs(db, {job});
      const auto rows = pg::read(db, sql::watched_attempt, caller_params(caller, job));
      if (rows.empty()) return no_valid_token();
      if (rows[0]["storage_id"].is_null()) return stale_attempt();
      Recorder recorder{rows[0]["storage_id"].as<std::string>(), pg::texts_of(rows[0]["watched_variables"])};
      if (const auto checked = check(db, recorder, records); !checked) return checked.refusal();
      const WatchedReport report{.machine = MachineId::make(),
                                 .attempt = {job, caller.attempt->number},
                                 .token_hash = {},
                                 .records = records,
                                 .said_at_ms = said_at_ms};
      return newest_of(report, put(db, {{report, std::move(recorder)}}));
    });
  } catch (const pg::ConstraintViolated& violated) {
    if (auto refusal = quota_refusal(violated.constraint())) return *refusal;
    throw;
  }
}

}  // namespace remotist::market
