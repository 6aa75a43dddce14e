// Row locks, to be taken in the order that sql/queries/lock.sql states. Held until the transaction ends.
#pragma once

#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"

namespace remotist::store {

void lock_jobs(pg::Connection& db, const std::vector<JobId>& jobs);
// The tallies of their owners. Requires lock_jobs().
void lock_tallies(pg::Connection& db, const std::vector<JobId>& jobs);
// The storages of their attempts and of their owners. Requires lock_jobs().
void lock_storages(pg::Connection& db, const std::vector<JobId>& jobs);

}  // namespace remotist::store
