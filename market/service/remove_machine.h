// Removes machines.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/audit.h"

namespace remotist::market {

// Ends its tokens. For its owner: wrong_state while it has an attempt. For an admin: evicts it (evictions.h),
// which writes messages, and records it in the audit log. Refuses also with unauthenticated and not_found.
Result<void> remove_machine(pg::Connection& db, std::string_view token_hash, MachineId id,
                            const RequestOrigin& origin);

}  // namespace remotist::market
