// Cancels jobs.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/audit.h"

namespace remotist::market {

// Cancels a job in any state and sends its machine a stop. The machine is paid, and the rest of the escrow
// returned, when it has reported its CPU time, or after a lease. Cancelling a cancelled job has no effect; a
// job that has ended otherwise is wrong_state. An admin may cancel other accounts' jobs, which is recorded in
// the audit log. Refuses also with unauthenticated and not_found.
Result<void> cancel_job(pg::Connection& db, std::string_view token_hash, JobId id,
                        const RequestOrigin& origin);

}  // namespace remotist::market
