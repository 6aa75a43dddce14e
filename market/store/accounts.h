// Accounts and their tokens in the database.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/credits.h"
#include "core/id.h"
#include "core/pg/session.h"

namespace remotist::market {

// False when an account with this e-mail (in any case) exists; nothing is changed then. The grant, if any, is
// paid from the mint in the same transaction.
bool create_account(pg::Session& db, AccountId id, std::string_view email, std::string_view password_hash,
                    Credits grant);

struct Credentials {
  AccountId account;
  std::string password_hash;
};
// Empty when there is no such account or it is disabled.
std::optional<Credentials> credentials_of(pg::Session& db, std::string_view email);

// Returns when the token expires, or nothing when the account was disabled meanwhile.
std::optional<std::string> create_session_token(pg::Session& db, std::string_view token_hash,
                                                AccountId account, std::chrono::seconds lifetime);

}  // namespace remotist::market
