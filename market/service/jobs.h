// Validation of new jobs and their files.
#pragma once

#include "core/result.h"
#include "market/store/job_files.h"
#include "market/store/jobs.h"

namespace remotist::market {

// Refuses with invalid_field and the name of the first field at fault; changes nothing. Requires the limits
// of core/limits.h for sizes. A job that is submitted at once must bring its code.
Result<void> check_new_job(const NewJob& job);

// The same rules for files that are sent later.
Result<void> check_files(const std::vector<JobFile>& files);

}  // namespace remotist::market
