// Registration, login, logout, password changes. Blocking code for a pool's thread; passwords are hashed
// (passwords.h) on a pool of their own (password_pool.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/token.h"
#include "market/store/accounts.h"
#include "market/store/audit.h"
#include "market/store/rates.h"

namespace remotist::market {

enum class RegistrationPolicy { open, invitation, closed };
std::optional<RegistrationPolicy> registration_policy_named(std::string_view name);

struct RegistrationRules {
  RegistrationPolicy policy = RegistrationPolicy::open;
  std::int64_t per_address_hour_max = 0;
  Credits grant{};
};

// Each operation below has two steps, before and after the slow hashing of a password. The first refuses with
// rate_limited when this address or e-mail has made too many attempts; an attempt that passes is counted at
// once, so that concurrent attempts are counted too. uncount_attempt() reverts that when the password was not
// hashed.
void uncount_attempt(pg::Connection& db, const std::vector<Rate>& counted);

// Refuses with email_taken, rate_limited or forbidden. The attempt counts whether or not the account is
// created.
Result<std::vector<Rate>> begin_registration(pg::Connection& db, const RegistrationRules& rules,
                                             std::string_view email, const RequestOrigin& origin,
                                             const std::optional<std::string>& invitation);
Result<AccountId> register_account(pg::Connection& db, const RegistrationRules& rules, std::string_view email,
                                   std::string_view password_hash, const RequestOrigin& origin,
                                   const std::optional<std::string>& invitation);

// Counts as a failure (limits::kLoginFailures…) until the second step has succeeded. An unknown e-mail gives
// empty credentials, which are compared all the same. From an address where the account's owner has logged in
// before, only failures from that address count, so that others cannot lock the owner out.
struct LoginAttempt {
  std::string email;
  std::optional<Credentials> credentials;
  std::vector<Rate> counted;
  const std::string& password_hash() const;
};
Result<LoginAttempt> begin_login(pg::Connection& db, std::string_view email, const RequestOrigin& origin);

struct Login {
  std::string token;  // shown once; only its digest is stored
  std::string expires_at;
};
Result<Login> create_login(pg::Connection& db, AccountId account, std::chrono::seconds lifetime);
Result<Login> finish_login(pg::Connection& db, const LoginAttempt& attempt, bool password_matched,
                           const RequestOrigin& origin, std::chrono::seconds lifetime);

// A wrong old password counts as a failed login.
Result<LoginAttempt> begin_password_change(pg::Connection& db, std::string_view token_hash,
                                           const RequestOrigin& origin);
// Without a new hash the old password was wrong. Returns how many logins it has ended.
Result<std::int64_t> finish_password_change(pg::Connection& db, std::string_view token_hash,
                                            const LoginAttempt& attempt,
                                            const std::optional<std::string>& new_hash,
                                            const RequestOrigin& origin);

}  // namespace remotist::market
