// Disables accounts, and enables them again.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"

namespace remotist::market {

// For admins; refuses with unauthenticated, forbidden or not_found, and runs in the caller's transaction
// (as_admin()). Disabling ends the account's tokens at once, on every market, and evicts its machines, which
// writes messages; workers requeue what those had and cancel the account's own jobs. With `disabled` false
// the account is enabled again.
Result<void> disable_account(pg::Connection& db, std::string_view token_hash, AccountId account,
                             bool disabled = true);

}  // namespace remotist::market
