// Locks on rows, in the order that sql/queries/lock.sql states. Each is held until the transaction ends.
#pragma once

#include <vector>

#include "core/id.h"
#include "core/pg/session.h"

namespace remotist::store {

void lock_jobs(pg::Session& db, const std::vector<JobId>& jobs);
// The tallies of their owners. Requires lock_jobs().
void lock_tallies(pg::Session& db, const std::vector<JobId>& jobs);
// The storages of their attempts and of their owners. Requires lock_jobs().
void lock_storages(pg::Session& db, const std::vector<JobId>& jobs);

}  // namespace remotist::store
