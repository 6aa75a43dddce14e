// Recording what machines tell of watched variables, many at a time in one transaction, and thinning what has
// become too much of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/id.h"
#include "core/partial_record.h"
#include "core/pg/session.h"
#include "core/protocol.h"
#include "core/result.h"
#include "market/store/caller.h"

namespace remotist::market {

// What one machine tells in one message.
struct PartialReport {
  MachineId machine;
  protocol::AttemptName attempt;
  std::string token_hash;  // of the attempt
  std::vector<PartialRecord> records;
  std::int64_t said_at_ms;  // of the clock since 1970: when the records' ages were true
};

// A variable's newest record.
struct NewestPartial {
  JobId job;
  std::string variable;
  std::int64_t sequence;
};

// What became of a report, each alone: the newest of each variable of which something was new (nothing, when
// all of it had come before), or stale_attempt, invalid_field (a variable that is not watched, a size that is
// not its chunks'), chunks_missing.
using PartialFate = Result<std::vector<NewestPartial>>;

// All that count are committed when this returns. History beyond limits::kHistory…Max and half of the job's
// share is thinned. Throws ConstraintViolated when one of them does not fit its owner's storage, and then
// none of them counts.
std::vector<PartialFate> record_partials(pg::Session& db, const std::vector<PartialReport>& reports);

// The same for one that does not fit its owner's storage: half of its job's own history makes room first.
// Refuses also with quota_exceeded, and then that stays as it was.
PartialFate record_partials_thinly(pg::Session& db, const PartialReport& report);

// The same for a machine that calls over REST, whose attempt is the caller's. Requires caller.attempt.
// Refuses also with unauthenticated and quota_exceeded.
PartialFate record_partials(pg::Session& db, const UserOrAttempt& caller, JobId job,
                            const std::vector<PartialRecord>& records, std::int64_t said_at_ms);

}  // namespace remotist::market
