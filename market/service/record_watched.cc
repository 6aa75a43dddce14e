#include "market/service/record_watched.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/chunk.h"
#include "core/limits.h"
#include "core/store/locks.h"
#include "market/service/thin_history.h"
#include "market/store/chunk_sizes.h"
#include "market/store/watched_records.h"

namespace remotist::market {
namespace {

// By index; none for those that are not current.
std::vector<std::optional<RecordingAttempt>> attempts_of(pg::Connection& db,
                                                         const std::vector<WatchedReport>& reports) {
  std::vector<NamedAttempt> named;
  for (const auto& report : reports) named.push_back({report.machine, report.attempt, report.token_hash});
  return recording_attempts(db, named);
}

// Holds the chunks until the end of the transaction.
Result<void> check_chunks(pg::Connection& db, const RecordingAttempt& attempt, const WatchedRecord& record) {
  const auto sizes = chunk_sizes(db, attempt.storage, chunks_of(record));
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

Result<void> check(pg::Connection& db, const RecordingAttempt& attempt,
                   const std::vector<WatchedRecord>& records) {
  for (const auto& record : records) {
    if (!std::ranges::contains(attempt.watched, record.variable))
      return refuse(Code::invalid_field, "the job does not watch " + record.variable, "variable");
    if (record.chunks.empty()) continue;
    if (auto checked = check_chunks(db, attempt, record); !checked) return checked;
  }
  return {};
}

// A report that may be recorded.
struct AdmittedReport {
  const WatchedReport& report;
  RecordingAttempt attempt;
};

std::vector<JobId> jobs_of(const std::vector<WatchedReport>& reports) {
  std::vector<JobId> jobs;
  for (const auto& report : reports) jobs.push_back(report.attempt.job);
  return jobs;
}

std::vector<NewestRecord> newest_of(const WatchedReport& report, const RecordSequences& sequences) {
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

// Requires that the jobs are locked.
RecordSequences put(pg::Connection& db, const std::vector<AdmittedReport>& admitted) {
  if (admitted.empty()) return {};
  std::vector<JobId> jobs;
  std::vector<NewRecord> records;
  for (const auto& [report, attempt] : admitted) {
    jobs.push_back(report.attempt.job);
    for (const auto& record : report.records)
      records.push_back({report.attempt, &record, report.said_at_ms - record.age_ms});
  }
  store::lock_storages(db, jobs);
  for (const auto& [report, attempt] : admitted) {
    std::vector<ChunkName> chunks;
    for (const auto& record : report.records) {
      const auto named = chunks_of(record);
      chunks.insert(chunks.end(), named.begin(), named.end());
    }
    name_chunks(db, attempt.storage, chunks, true);
  }
  auto sequences = insert_records(db, records);
  if (!sequences.empty()) thin_histories(db, jobs, limits::kHistoryBytesMax);
  return sequences;
}

std::vector<WatchedResult> record(pg::Connection& db, const std::vector<WatchedReport>& reports) {
  store::lock_jobs(db, jobs_of(reports));
  auto attempts = attempts_of(db, reports);
  std::vector<WatchedResult> results;
  std::vector<AdmittedReport> admitted;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!attempts[i]) {
      results.emplace_back(stale_attempt());
    } else if (const auto checked = check(db, *attempts[i], reports[i].records); !checked) {
      results.emplace_back(checked.refusal());
    } else {
      results.emplace_back(std::vector<NewestRecord>{});
      admitted.push_back({reports[i], std::move(*attempts[i])});
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
      if (!attempts_of(db, {report}).front()) return stale_attempt();
      store::lock_storages(db, {job});
      thin_histories(db, {job}, history_bytes(db, job) / 2);
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
      auto attempt = recording_attempt(db, caller, job);
      if (!attempt) return attempt.refusal();
      if (const auto checked = check(db, *attempt, records); !checked) return checked.refusal();
      const WatchedReport report{.machine = MachineId::make(),
                                 .attempt = {job, caller.attempt->number},
                                 .token_hash = {},
                                 .records = records,
                                 .said_at_ms = said_at_ms};
      return newest_of(report, put(db, {{report, std::move(*attempt)}}));
    });
  } catch (const pg::ConstraintViolated& violated) {
    if (auto refusal = quota_refusal(violated.constraint())) return *refusal;
    throw;
  }
}

}  // namespace remotist::market
