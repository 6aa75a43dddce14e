// Registering, logging in and out, changing a password. Plain blocking code for a pool's thread; hashing a
// password is passwords.h, on a pool of its own (password_pool.h).
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

// Everything below comes in two halves around the slow hashing of a password. The first refuses with
// rate_limited when this address or this e-mail has tried too often of late, before anything is hashed; what
// it lets pass is counted at once, so that those who come together are counted too. `give_back` is for when
// the password was not hashed after all.
void give_back(pg::Session& db, const std::vector<Rate>& counted);

// Refuses with email_taken, rate_limited or forbidden. Whatever becomes of it, it counts.
Result<std::vector<Rate>> begin_registration(pg::Session& db, const RegistrationRules& rules,
                                             std::string_view email, const Origin& origin,
                                             const std::optional<std::string>& invitation);
Result<AccountId> register_account(pg::Session& db, const RegistrationRules& rules, std::string_view email,
                                   std::string_view password_hash, const Origin& origin,
                                   const std::optional<std::string>& invitation);

// It counts as a failure (limits::kLoginFailures…) until the second half has succeeded. An unknown e-mail
// gives empty credentials, to be compared all the same. Failures of others do not keep an account's owner out
// where it has logged in before: there only those of the same address count.
struct LoginAttempt {
  std::string email;
  std::optional<Credentials> credentials;
  std::vector<Rate> counted;
  const std::string& password_hash() const;
};
Result<LoginAttempt> begin_login(pg::Session& db, std::string_view email, const Origin& origin);

struct OpenedSession {
  std::string token;  // shown once; only its digest is stored
  std::string expires_at;
};
Result<OpenedSession> open_session(pg::Session& db, AccountId account, std::chrono::seconds lifetime);
Result<OpenedSession> finish_login(pg::Session& db, const LoginAttempt& attempt, bool password_matched,
                                   const Origin& origin, std::chrono::seconds lifetime);

// Whoever has a token may not guess the password either: a wrong old one is a failed log-in.
Result<LoginAttempt> begin_password_change(pg::Session& db, std::string_view token_hash,
                                           const Origin& origin);
// Without a new hash the old password was wrong. Gives how many sessions have ended.
Result<std::int64_t> finish_password_change(pg::Session& db, std::string_view token_hash,
                                            const LoginAttempt& attempt,
                                            const std::optional<std::string>& new_hash, const Origin& origin);

}  // namespace remotist::market
