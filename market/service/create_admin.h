// Creates admins, from the command line.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"

namespace remotist::market {

// Creates an account that is an admin, and records it in the audit log. Hashes the password (passwords.h).
// Refuses with invalid_field and email_taken.
Result<AccountId> create_admin(pg::Connection& db, std::string_view email, std::string_view password);

}  // namespace remotist::market
