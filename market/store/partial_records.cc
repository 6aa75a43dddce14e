#include "market/store/partial_records.h"

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
std::vector<std::optional<Recorder>> recorders_of(pg::Session& db,
                                                  const std::vector<PartialReport>& reports) {
  std::vector<std::optional<Recorder>> recorders(reports.size());
  const auto rows = pg::read(
      db, sql::partial_attempts,
      pqxx::params{
          pg::uuid_array(reports, [](const PartialReport& each) { return each.attempt.job; }),
          pg::array_of(reports, [](const PartialReport& each) { return each.attempt.number; }),
          pg::array_of(reports, [](const PartialReport& each) { return pg::bytea_text(each.token_hash); }),
          pg::uuid_array(reports, &PartialReport::machine)});
  for (const auto& row : rows) {
    recorders[row["position"].as<std::size_t>() - 1] =
        Recorder{row["storage_id"].as<std::string>(), pg::texts_of(row["watched_variables"])};
  }
  return recorders;
}

std::vector<ChunkName> chunks_of(const PartialRecord& record) {
  std::vector<ChunkName> chunks;
  for (const auto& name : record.chunks) chunks.push_back(ChunkName::parse(name).value());
  return chunks;
}

// Holds the chunks until the end of the transaction.
Result<void> check_chunks(pg::Session& db, const Recorder& recorder, const PartialRecord& record) {
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

Result<void> check(pg::Session& db, const Recorder& recorder, const std::vector<PartialRecord>& records) {
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
  const PartialReport& report;
  Recorder recorder;
};

using Place = std::tuple<JobId, std::string, std::int64_t>;  // job, variable, number

// Gives the sequences of those that are new.
std::map<Place, std::int64_t> insert(pg::Session& db, const std::vector<Admitted>& admitted) {
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
      const bool is_inline = record.kind == PartialKind::value && record.chunks.empty();
      sizes.push_back(is_inline ? static_cast<std::int64_t>(record.bytes.size()) : record.size);
      contents.push_back(pg::bytea_text(record.bytes));
      inlined.push_back(is_inline);
      words.push_back(record.words);
    }
  }
  std::map<Place, std::int64_t> sequences;
  if (jobs.empty()) return sequences;
  const auto rows = pg::write(db, sql::partial_results_insert,
                              pqxx::params{jobs, variables, attempts, numbers, changes, moments, kinds, sizes,
                                           contents, inlined, words});
  for (const auto& row : rows) {
    sequences.emplace(Place{JobId::parse(row["job_id"].view()).value(), row["variable"].as<std::string>(),
                            row["number"].as<std::int64_t>()},
                      row["sequence"].as<std::int64_t>());
  }
  return sequences;
}

void insert_chunks(pg::Session& db, const std::vector<Admitted>& admitted,
                   const std::map<Place, std::int64_t>& sequences) {
  std::set<Place> done;
  for (const auto& [report, recorder] : admitted) {
    for (const auto& record : report.records) {
      if (record.chunks.empty()) continue;
      const Place place{report.attempt.job, record.variable, record.number};
      const auto found = sequences.find(place);
      if (found == sequences.end() || !done.insert(place).second) continue;
      const auto job = report.attempt.job.text();
      pg::write(db, sql::partial_result_chunks_insert,
                pqxx::params{job, record.variable, found->second, bytea_array(chunks_of(record))});
    }
  }
}

// Thins what these jobs have too much of, those variables first that have most of it, until it fits or only
// the newest values are left. Throws ConstraintViolated when those alone leave a result less room than half
// of its job's share.
void thin(pg::Session& db, const std::vector<std::string>& jobs, std::int64_t records_max,
          std::int64_t bytes_max) {
  for (;;) {
    std::set<std::string> thinned;
    bool too_large = false;
    for (const auto& row :
         pg::read(db, sql::partial_results_held, pqxx::params{jobs, records_max, bytes_max})) {
      const auto job = row["job_id"].as<std::string>();
      if (thinned.contains(job)) continue;
      const pqxx::params params{job, row["variable"].as<std::string>()};
      if (row["has_older"].as<bool>() &&
          pg::write(db, sql::partial_results_thin, params).affected_rows() > 0) {
        thinned.insert(job);
      } else {
        too_large |= row["beyond_quota"].as<bool>();
      }
    }
    if (!thinned.empty()) continue;
    if (too_large) throw pg::ConstraintViolated{kHistoryFits, "the newest values of a job are too large"};
    return;
  }
}

std::vector<std::string> jobs_of(const std::vector<Admitted>& admitted) {
  std::set<std::string> jobs;
  for (const auto& each : admitted) jobs.insert(each.report.attempt.job.text());
  return {jobs.begin(), jobs.end()};
}

std::vector<NewestPartial> newest_of(const PartialReport& report,
                                     const std::map<Place, std::int64_t>& sequences) {
  std::map<std::string, std::int64_t> newest;
  for (const auto& record : report.records) {
    const auto found = sequences.find({report.attempt.job, record.variable, record.number});
    if (found == sequences.end()) continue;
    auto& sequence = newest[record.variable];
    sequence = std::max(sequence, found->second);
  }
  std::vector<NewestPartial> all;
  for (const auto& [variable, sequence] : newest) all.push_back({report.attempt.job, variable, sequence});
  return all;
}

// Requires that the jobs are held.
std::map<Place, std::int64_t> put(pg::Session& db, const std::vector<Admitted>& admitted) {
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

std::vector<PartialFate> record(pg::Session& db, const std::vector<PartialReport>& reports) {
  store::lock_jobs(db, pg::array_of(reports, [](const PartialReport& each) { return each.attempt.job; }));
  auto recorders = recorders_of(db, reports);
  std::vector<PartialFate> fates;
  std::vector<Admitted> admitted;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!recorders[i]) {
      fates.emplace_back(stale_attempt());
    } else if (const auto checked = check(db, *recorders[i], reports[i].records); !checked) {
      fates.emplace_back(checked.refusal());
    } else {
      fates.emplace_back(std::vector<NewestPartial>{});
      admitted.push_back({reports[i], std::move(*recorders[i])});
    }
  }
  const auto sequences = put(db, admitted);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (fates[i]) fates[i] = newest_of(reports[i], sequences);
  }
  return fates;
}

}  // namespace

std::vector<PartialFate> record_partials(pg::Session& db, const std::vector<PartialReport>& reports) {
  return db.transact([&] { return record(db, reports); });
}

PartialFate record_partials_thinly(pg::Session& db, const PartialReport& report) {
  try {
    return db.transact([&]() -> PartialFate {
      const auto job = report.attempt.job;
      store::lock_jobs(db, {job});
      // Only who may record may thin.
      if (!recorders_of(db, {report}).front()) return stale_attempt();
      store::lock_storages(db, {job});
      const auto held = pg::read(db, sql::partial_results_bytes, pqxx::params{job.text()});
      thin(db, {job.text()}, limits::kHistoryRecordsMax, held.one_field().as<std::int64_t>() / 2);
      return std::move(record(db, {report}).front());
    });
  } catch (const pg::ConstraintViolated& violated) {
    if (auto refusal = quota_refusal(violated.constraint())) return *refusal;
    throw;
  }
}

PartialFate record_partials(pg::Session& db, const UserOrAttempt& caller, JobId job,
                            const std::vector<PartialRecord>& records, std::int64_t said_at_ms) {
  try {
    return db.transact([&]() -> PartialFate {
      store::lock_jobs(db, {job});
      const auto rows = pg::read(db, sql::partial_attempt, caller_params(caller, job));
      if (rows.empty()) return no_valid_token();
      if (rows[0]["storage_id"].is_null()) return stale_attempt();
      Recorder recorder{rows[0]["storage_id"].as<std::string>(), pg::texts_of(rows[0]["watched_variables"])};
      if (const auto checked = check(db, recorder, records); !checked) return checked.refusal();
      const PartialReport report{.machine = MachineId::make(),
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
