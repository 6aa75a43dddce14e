// Records the changes of watched variables, many in one transaction. Histories that then exceed their limits
// are thinned (thin_history.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/protocol.h"
#include "core/result.h"
#include "core/watched_record.h"
#include "market/store/caller.h"

namespace remotist::market {

// The records of one message of one machine.
struct WatchedReport {
  MachineId machine;
  protocol::AttemptName attempt;
  std::string token_hash;  // of the attempt
  std::vector<WatchedRecord> records;
  std::int64_t said_at_ms;  // Unix time in ms to which the records' ages refer
};

// A variable's newest record.
struct NewestRecord {
  JobId job;
  std::string variable;
  std::int64_t sequence;
};

// The result of one report: the newest record of each variable that has a new one (none when all were
// recorded before), or stale_attempt, invalid_field (a variable that is not watched, a size that is not its
// chunks'), chunks_missing.
using WatchedResult = Result<std::vector<NewestRecord>>;

// Commits the records of all accepted reports. Throws ConstraintViolated when a report exceeds its owner's
// storage; nothing is recorded then.
std::vector<WatchedResult> record_watched(pg::Connection& db, const std::vector<WatchedReport>& reports);

// For a report that exceeds its owner's storage: thins the job's history to half its bytes first. Refuses
// also with quota_exceeded; the history is unchanged then.
WatchedResult record_watched_after_thinning(pg::Connection& db, const WatchedReport& report);

// For a machine that calls over REST. Requires caller.attempt. Refuses also with unauthenticated and
// quota_exceeded.
WatchedResult record_watched(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                             const std::vector<WatchedRecord>& records, std::int64_t said_at_ms);

}  // namespace remotist::market
