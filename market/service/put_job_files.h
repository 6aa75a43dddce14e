// Stores files of a job.
#pragma once

#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/caller.h"
#include "market/store/job_files.h"

namespace remotist::market {

// Whether the caller may upload files of this role now; refuses as put_files does.
Result<void> check_may_bring(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role);

// Stores all files or none; replaces files of the same path. Refuses with unauthenticated, stale_attempt,
// not_found, forbidden (a role that this caller may not upload), wrong_state, chunks_missing, invalid_field
// (a size that is not its chunks'), too_large (limits::kJob…Max).
Result<void> put_files(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role,
                       const std::vector<JobFile>& files);

}  // namespace remotist::market
