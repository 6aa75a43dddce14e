#include "market/service/accounts.h"

#include <algorithm>

#include "core/digest.h"
#include "core/limits.h"

namespace remotist::market {
namespace {

// Tokens begin with a word that secret scanners can be taught to find.
constexpr std::chrono::seconds kFailureTime{limits::kLoginFailureSeconds};

Refusal wrong_credentials() {
  return refuse(Code::wrong_credentials, "e-mail and password do not match an account");
}

bool blank_or_control(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u <= ' ' || u == 0x7f;
}

}  // namespace

Result<void> check_email(std::string_view email) {
  const auto at = email.find('@');
  const bool shaped =
      at != std::string_view::npos && at > 0 && at + 1 < email.size() && email.rfind('@') == at;
  if (!shaped || std::ranges::any_of(email, blank_or_control)) {
    return refuse(Code::invalid_field, "an e-mail address looks like name@example.org", "email");
  }
  if (email.size() > limits::kEmailBytesMax) {
    return refuse(Code::invalid_field,
                  "an e-mail address has at most " + std::to_string(limits::kEmailBytesMax) + " bytes",
                  "email");
  }
  return {};
}

Result<void> check_password(std::string_view password, const char* field) {
  if (password.size() < limits::kPasswordBytesMin || password.size() > limits::kPasswordBytesMax) {
    return refuse(Code::invalid_field,
                  "a password has " + std::to_string(limits::kPasswordBytesMin) + " to " +
                      std::to_string(limits::kPasswordBytesMax) + " bytes",
                  field);
  }
  return {};
}

std::optional<RegistrationPolicy> registration_policy_named(std::string_view name) {
  if (name == "open") return RegistrationPolicy::open;
  if (name == "invitation") return RegistrationPolicy::invitation;
  if (name == "closed") return RegistrationPolicy::closed;
  return std::nullopt;
}

Result<void> check_may_register(const RegistrationRules& rules,
                                const std::optional<std::string>& invitation) {
  if (rules.policy == RegistrationPolicy::closed) {
    return refuse(Code::forbidden, "this market takes no new accounts");
  }
  if (rules.policy == RegistrationPolicy::invitation && !invitation) {
    return refuse(Code::forbidden,
                  "this market takes new accounts by invitation: send the code you were given as invitation",
                  "invitation");
  }
  return {};
}

Result<AccountId> register_account(pg::Session& db, const RegistrationRules& rules, std::string_view email,
                                   std::string_view password_hash, std::string_view address,
                                   const std::optional<std::string>& invitation) {
  NewAccount account{.email = std::string{email},
                     .password_hash = std::string{password_hash},
                     .grant = rules.grant,
                     .address = std::string{address},
                     .per_address_hour_max = rules.per_address_hour_max,
                     .invitation_hash = {}};
  if (rules.policy == RegistrationPolicy::invitation)
    account.invitation_hash = token_hash(invitation.value());
  switch (create_account(db, account)) {
    case Registration::created:
      return account.id;
    case Registration::email_taken:
      return refuse(Code::email_taken, "an account with this e-mail exists already: log in instead", "email");
    case Registration::too_many_from_address:
      return refuse(Code::rate_limited,
                    "too many accounts were made from this address within the last hour: try later");
    case Registration::not_invited:
      return refuse(Code::forbidden, "this invitation is unknown, used or expired", "invitation");
  }
  __builtin_unreachable();
}

Result<OpenedSession> open_session(pg::Session& db, AccountId account, std::chrono::seconds lifetime) {
  std::string token = fresh_token("user");
  const auto expires_at = create_session_token(db, token_hash(token), account, lifetime);
  if (!expires_at) return wrong_credentials();
  return OpenedSession{std::move(token), *expires_at};
}

const std::string& LoginAttempt::password_hash() const {
  static const std::string kNone;
  return credentials ? credentials->password_hash : kNone;
}

Result<LoginAttempt> begin_login(pg::Session& db, std::string_view email, std::string_view address) {
  const auto failures = login_failures(db, email, address, kFailureTime);
  if (failures.by_both >= limits::kLoginFailuresMax ||
      failures.by_email >= limits::kLoginFailuresPerEmailMax ||
      failures.by_address >= limits::kLoginFailuresPerAddressMax) {
    return refuse(Code::rate_limited,
                  "too many log-ins have failed: wait a quarter of an hour and try again");
  }
  // Counted as failed until it has succeeded, so that guesses sent all at once are counted too.
  record_login_failure(db, email, address);
  return LoginAttempt{credentials_of(db, email)};
}

Result<OpenedSession> finish_login(pg::Session& db, const LoginAttempt& attempt, bool password_matched,
                                   std::string_view email, std::chrono::seconds lifetime) {
  if (!password_matched || !attempt.credentials) return wrong_credentials();
  forget_login_failures(db, email, kFailureTime);
  return open_session(db, attempt.credentials->account, lifetime);
}

}  // namespace remotist::market
