// Moves a running job to another machine.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/audit.h"

namespace remotist::market {

// Asks the machine to take a checkpoint and to hand the job over; another one goes on from there. When the
// machine has not done so within limits::kHandOverSecondsMax, a worker ends the attempt, and the job's newest
// checkpoint counts. Asking again has no effect. A job that is not running is wrong_state. An admin may move
// other accounts' jobs, which is recorded in the audit log. Refuses also with unauthenticated and not_found.
Result<void> migrate_job(pg::Connection& db, std::string_view token_hash, JobId id,
                         const RequestOrigin& origin);

}  // namespace remotist::market
