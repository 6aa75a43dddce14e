// Bans machines, and ends their bans.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"

namespace remotist::market {

// For admins; both refuse with unauthenticated, forbidden or not_found, and run in the caller's transaction
// (as_admin()). A banned machine gets no token and no machine session; it is evicted, which writes messages,
// and its attempts are requeued.
Result<void> ban_machine(pg::Connection& db, std::string_view token_hash, MachineId machine,
                         std::string_view reason);
Result<void> unban_machine(pg::Connection& db, std::string_view token_hash, MachineId machine);

}  // namespace remotist::market
