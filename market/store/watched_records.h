// Writes the history of watched variables. Reading it: watched_history.h. All run in the caller's transaction
// and require lock_jobs() (core/store/locks.h) for the jobs; those that write, lock_storages() too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/chunk.h"
#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "core/watched_record.h"
#include "market/store/attempts.h"
#include "market/store/caller.h"

namespace remotist::market {

// An attempt that may record now.
struct RecordingAttempt {
  std::string storage;  // where its chunks are
  std::vector<std::string> watched;
};
// By index; none for those that are not current.
std::vector<std::optional<RecordingAttempt>> recording_attempts(pg::Connection& db,
                                                                const std::vector<NamedAttempt>& attempts);
// For a machine that calls over REST: refuses with unauthenticated or stale_attempt.
Result<RecordingAttempt> recording_attempt(pg::Connection& db, const UserOrAttempt& caller, JobId job);

std::vector<ChunkName> chunks_of(const WatchedRecord& record);

// `record` must outlive it.
struct NewRecord {
  protocol::AttemptName attempt;
  const WatchedRecord* record;
  std::int64_t at_ms;  // Unix time of the change
};
// By job, variable and the attempt's number of the record.
using RecordSequences = std::map<std::tuple<JobId, std::string, std::int64_t>, std::int64_t>;
// Inserts the records that are new, with their chunks, and returns their sequences. Requires name_chunks().
RecordSequences insert_records(pg::Connection& db, const std::vector<NewRecord>& records);

// A variable of a job whose history exceeds the limits. Within a job, those with two records or more come
// first, then the largest.
struct ExcessVariable {
  JobId job;
  std::string variable;
  bool has_older;       // than its newest record
  bool has_superseded;  // it has records of lost attempts
  bool beyond_quota;    // the job's history exceeds half of its share
};
std::vector<ExcessVariable> excess_variables(pg::Connection& db, const std::vector<JobId>& jobs,
                                             std::int64_t records_max, std::int64_t bytes_max);
std::int64_t history_bytes(pg::Connection& db, JobId job);

// Both are false when they deleted nothing. delete_superseded() deletes the variable's records of lost
// attempts, thin() every second record of the older half.
bool delete_superseded(pg::Connection& db, JobId job, const std::string& variable);
bool thin(pg::Connection& db, JobId job, const std::string& variable);

}  // namespace remotist::market
