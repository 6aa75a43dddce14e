// An attempt says from which checkpoint it goes on.
#pragma once

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/caller.h"
#include "market/store/resumed_attempts.h"

namespace remotist::market {

// The first report of an attempt counts; later ones have no effect. Newer checkpoints are not usable any
// more, watched records from after the checkpoint are superseded, and the machine that took it is paid for
// the CPU time up to there. Refuses with unauthenticated, stale_attempt, not_found, forbidden (a user),
// invalid_field (no usable checkpoint has this sequence).
Result<void> resume_attempt(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                            const ResumeReport& report);

}  // namespace remotist::market
