// Records checkpoints of running jobs.
#pragma once

#include <string>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/caller.h"
#include "market/store/checkpoints.h"

namespace remotist::market {

// Refuses whoever may not record or note checkpoints of the job: unauthenticated, stale_attempt, not_found,
// forbidden (a user; a job whose owner wants none).
Result<CheckpointCaller> check_may_checkpoint(pg::Connection& db, const UserOrAttempt& caller, JobId job);

// Returns the checkpoint's sequence. One transaction, fenced by the attempt's token, verifies that every
// chunk is present, records it, deletes those that are too old, and gives back the room of chunks that none
// has any more. The same (attempt, number) again has no effect. Refuses also with chunks_missing,
// invalid_field (a number below the attempt's newest, a variable that is not watched), wrong_state (the
// attempt has not said from which checkpoint it went on).
Result<int> record_checkpoint(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                              const CheckpointManifest& manifest);

// What the machine says about the next checkpoint, for the job's owner.
struct CheckpointNote {
  std::int64_t interval_ms;
  std::optional<std::string> problem;
};
Result<void> record_checkpoint_note(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                                    const CheckpointNote& note);

}  // namespace remotist::market
