// Sets forgotten passwords, from the command line.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"

namespace remotist::market {

// Sets the password of the account with this e-mail, ends its logins, and records it in the audit log. Hashes
// the password (passwords.h). Refuses with invalid_field and not_found.
Result<AccountId> reset_password(pg::Connection& db, std::string_view email, std::string_view password);

}  // namespace remotist::market
