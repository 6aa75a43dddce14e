// Deletes jobs.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"

namespace remotist::market {

// Only a job that has ended or was never submitted, else wrong_state. Refuses also with unauthenticated and
// not_found.
Result<void> delete_job(pg::Connection& db, std::string_view token_hash, JobId id);

}  // namespace remotist::market
