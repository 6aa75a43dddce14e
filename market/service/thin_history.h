// Reduces the histories of watched variables that exceed their limits.
#pragma once

#include <cstdint>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"

namespace remotist::market {

// Reduces the histories of these jobs until each has at most limits::kHistoryRecordsMax records and
// `bytes_max` bytes, and no more bytes than half of its job's share: first the records of lost attempts are
// deleted, then the variables that exceed most are thinned, down to their newest values. Which records a
// thinned history keeps is a rule of SQL: watched_records_thin.
//
// Throws ConstraintViolated{kHistoryFits} when the newest values of the current attempts alone exceed half of
// a job's share. Runs in the caller's transaction; requires lock_jobs() and lock_storages().
void thin_histories(pg::Connection& db, const std::vector<JobId>& jobs, std::int64_t bytes_max);

}  // namespace remotist::market
