// Registering and logging in. Plain blocking code for a pool's thread; hashing is passwords.h, on its own
// pool.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/credits.h"
#include "core/id.h"
#include "core/pg/session.h"
#include "core/result.h"

namespace remotist::market {

// The rules for what a person types. `email` is only roughly checked: one @ with something on either side, no
// spaces or control characters.
Result<void> check_email(std::string_view email);
Result<void> check_password(std::string_view password);

struct AccountView {
  AccountId id;
  std::string email;
};
Result<AccountView> register_account(pg::Session& db, std::string_view email, std::string_view password_hash,
                                     Credits grant);

struct OpenedSession {
  std::string token;  // shown once; only its digest is stored
  std::string expires_at;
};
Result<OpenedSession> open_session(pg::Session& db, AccountId account, std::chrono::seconds lifetime);

// What is stored and looked up instead of a token.
std::string token_hash(std::string_view token);

}  // namespace remotist::market
