// Requests that a user or a machine may send. A machine that works on a job says so in a header:
//
//   Remotist-Attempt: <job id> <attempt number> <attempt token>
#pragma once

#include "market/api/http.h"
#include "market/store/caller.h"

namespace remotist::market {

// Refuses a header that is not of that form.
Result<UserOrAttempt> user_or_attempt_of(const Request& request);

// The {id} of /job/{id}/…
Result<JobId> job_id_of(const Request& request);

}  // namespace remotist::market
