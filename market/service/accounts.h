// Registering, logging in and out, changing a password. Plain blocking code for a pool's thread; hashing a
// password is passwords.h, on its own pool.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/token.h"
#include "market/store/accounts.h"

namespace remotist::market {

// The rules for what a person types. `email` is only roughly checked: one @ with something on either side, no
// spaces or control characters.
Result<void> check_email(std::string_view email);
Result<void> check_password(std::string_view password, const char* field = "password");

enum class RegistrationPolicy { open, invitation, closed };
std::optional<RegistrationPolicy> registration_policy_named(std::string_view name);

struct RegistrationRules {
  RegistrationPolicy policy = RegistrationPolicy::open;
  std::int64_t per_address_hour_max = 0;
  Credits grant{};
};

// Call before the password is hashed, so that a refusal costs nothing.
Result<void> check_may_register(const RegistrationRules& rules, const std::optional<std::string>& invitation);
// Refuses with email_taken, rate_limited or forbidden.
Result<AccountId> register_account(pg::Session& db, const RegistrationRules& rules, std::string_view email,
                                   std::string_view password_hash, std::string_view address,
                                   const std::optional<std::string>& invitation);

struct OpenedSession {
  std::string token;  // shown once; only its digest is stored
  std::string expires_at;
};
Result<OpenedSession> open_session(pg::Session& db, AccountId account, std::chrono::seconds lifetime);

// Logging in has two halves around the slow comparison of the password. The first refuses with rate_limited
// when this e-mail or this address has failed too often of late (limits::kLoginFailures…); an unknown e-mail
// gives empty credentials, to be compared all the same. It counts as a failure until the second half has
// succeeded.
struct LoginAttempt {
  std::optional<Credentials> credentials;
  const std::string& password_hash() const;
};
Result<LoginAttempt> begin_login(pg::Session& db, std::string_view email, std::string_view address);
Result<OpenedSession> finish_login(pg::Session& db, const LoginAttempt& attempt, bool password_matched,
                                   std::string_view email, std::chrono::seconds lifetime);

}  // namespace remotist::market
