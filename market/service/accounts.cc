#include "market/service/accounts.h"

#include "core/digest.h"
#include "core/limits.h"
#include "market/service/audited.h"
#include "market/service/subscriber.h"
#include "market/store/caller.h"

namespace remotist::market {
namespace {

constexpr std::chrono::seconds kFailureTime{limits::kLoginFailureSeconds};

Refusal wrong_credentials() {
  return refuse(Code::wrong_credentials, "e-mail and password do not match an account");
}

// Those of an hour, and of a day: sock puppets are made slowly, too.
std::vector<Rate> registration_rates(const RegistrationRules& rules, const RequestOrigin& origin) {
  const std::string who = subscriber_of(origin.address.value());
  const auto an_hour = rules.per_address_hour_max;
  return {{"register:hour:" + who, an_hour, std::chrono::hours{1}},
          {"register:day:" + who, an_hour * limits::kRegistrationHoursADay, std::chrono::hours{24}}};
}

// By address, by the two together, which is the first of them, and by e-mail.
std::vector<Rate> login_rates(pg::Connection& db, std::string_view email, const RequestOrigin& origin) {
  const std::string who = subscriber_of(origin.address.value());
  const std::string whom{email};
  std::vector<Rate> rates{{"login:both:" + who + " " + whom, limits::kLoginFailuresMax, kFailureTime},
                          {"login:address:" + who, limits::kLoginFailuresPerAddressMax, kFailureTime}};
  if (!is_login_origin(db, email, who)) {
    rates.push_back({"login:email:" + whom, limits::kLoginFailuresPerEmailMax, kFailureTime});
  }
  return rates;
}

// False when one is used up; then nothing is counted, and nothing was written if that could be seen at once.
bool count_now(pg::Connection& db, const std::vector<Rate>& rates) {
  if (is_used_up(db, rates)) return false;
  return db
      .transact([&]() -> Result<void> {
        if (!count(db, rates)) return refuse(Code::rate_limited, "");
        return {};
      })
      .ok();
}

Refusal too_many_failures(pg::Connection& db, const RequestOrigin& origin) {
  record_refusal(db, origin, "login_refused");
  return refuse(Code::rate_limited, "too many logins have failed: wait a quarter of an hour and try again");
}

// It has succeeded: whoever mistyped a password begins anew, but others' failures stay.
void uncount_failures(pg::Connection& db, const LoginAttempt& attempt) {
  uncount(db, attempt.counted);
  reset_rate(db, attempt.counted.front());
}

std::optional<std::string> invitation_hash(const RegistrationRules& rules,
                                           const std::optional<std::string>& invitation) {
  if (rules.policy != RegistrationPolicy::invitation) return std::nullopt;
  return token_hash(invitation.value());
}

std::optional<Refusal> refusal_of(Registration registration) {
  switch (registration) {
    case Registration::created:
      return std::nullopt;
    case Registration::email_taken:
      return refuse(Code::email_taken, "an account with this e-mail exists already: log in instead", "email");
    case Registration::not_invited:
      return refuse(Code::forbidden, "this invitation is unknown, used or expired", "invitation");
  }
  __builtin_unreachable();
}

}  // namespace

std::optional<RegistrationPolicy> registration_policy_named(std::string_view name) {
  if (name == "open") return RegistrationPolicy::open;
  if (name == "invitation") return RegistrationPolicy::invitation;
  if (name == "closed") return RegistrationPolicy::closed;
  return std::nullopt;
}

void uncount_attempt(pg::Connection& db, const std::vector<Rate>& counted) {
  uncount(db, counted);
}

Result<std::vector<Rate>> begin_registration(pg::Connection& db, const RegistrationRules& rules,
                                             std::string_view email, const RequestOrigin& origin,
                                             const std::optional<std::string>& invitation) {
  if (rules.policy == RegistrationPolicy::closed) {
    return refuse(Code::forbidden, "this market takes no new accounts");
  }
  if (rules.policy == RegistrationPolicy::invitation && !invitation) {
    return refuse(Code::forbidden,
                  "this market takes new accounts by invitation: send the code you were given as invitation",
                  "invitation");
  }
  auto rates = registration_rates(rules, origin);
  if (!count_now(db, rates)) {
    record_refusal(db, origin, "register_refused");
    return refuse(
        Code::rate_limited,
        "too many registrations were tried from this address of late: try again in an hour or a day");
  }
  const auto refusal = refusal_of(check_registration(db, email, invitation_hash(rules, invitation)));
  if (refusal) return *refusal;
  return rates;
}

Result<AccountId> register_account(pg::Connection& db, const RegistrationRules& rules, std::string_view email,
                                   std::string_view password_hash, const RequestOrigin& origin,
                                   const std::optional<std::string>& invitation) {
  const NewAccount account{.email = std::string{email},
                           .password_hash = std::string{password_hash},
                           .grant = rules.grant,
                           .address = subscriber_of(origin.address.value()),
                           .invitation_hash = invitation_hash(rules, invitation)};
  return audited(db, origin, [&](AuditEvents& events) -> Result<AccountId> {
    if (const auto refusal = refusal_of(create_account(db, account))) return *refusal;
    events.push_back({.action = "register", .account = account.id, .subject = account.email});
    return account.id;
  });
}

const std::string& LoginAttempt::password_hash() const {
  static const std::string none;
  return credentials ? credentials->password_hash : none;
}

Result<LoginAttempt> begin_login(pg::Connection& db, std::string_view email, const RequestOrigin& origin) {
  auto rates = login_rates(db, email, origin);
  if (!count_now(db, rates)) return too_many_failures(db, origin);
  return LoginAttempt{std::string{email}, credentials_of(db, email), std::move(rates)};
}

Result<Login> create_login(pg::Connection& db, AccountId account, std::chrono::seconds lifetime) {
  std::string token = fresh_token("user");
  const auto expires_at = create_login_token(db, token_hash(token), account, lifetime);
  if (!expires_at) return wrong_credentials();
  return Login{std::move(token), *expires_at};
}

Result<Login> finish_login(pg::Connection& db, const LoginAttempt& attempt, bool password_matched,
                           const RequestOrigin& origin, std::chrono::seconds lifetime) {
  if (!password_matched || !attempt.credentials) {
    record_failure(db, origin, {.action = "login_failed", .subject = attempt.email});
    return wrong_credentials();
  }
  const AccountId account = attempt.credentials->account;
  return audited(db, origin, [&](AuditEvents& events) -> Result<Login> {
    auto login = create_login(db, account, lifetime);
    if (!login) return login.refusal();
    uncount_failures(db, attempt);
    record_login_origin(db, account, subscriber_of(origin.address.value()));
    events.push_back({.action = "login", .account = account});
    return login;
  });
}

Result<LoginAttempt> begin_password_change(pg::Connection& db, std::string_view token_hash,
                                           const RequestOrigin& origin) {
  auto credentials = credentials_of_token(db, token_hash);
  if (!credentials) return no_valid_token();
  auto rates = login_rates(db, credentials->email, origin);
  if (!count_now(db, rates)) return too_many_failures(db, origin);
  return LoginAttempt{credentials->email, credentials, std::move(rates)};
}

Result<std::int64_t> finish_password_change(pg::Connection& db, std::string_view token_hash,
                                            const LoginAttempt& attempt,
                                            const std::optional<std::string>& new_hash,
                                            const RequestOrigin& origin) {
  const AccountId account = attempt.credentials.value().account;
  if (!new_hash) {
    record_failure(db, origin, {.action = "login_failed", .account = account, .subject = attempt.email});
    return refuse(Code::wrong_credentials, "the old password is not right", "old");
  }
  return audited(db, origin, [&](AuditEvents& events) -> Result<std::int64_t> {
    const auto ended = change_password(db, token_hash, attempt.password_hash(), *new_hash);
    if (!ended) return refuse(Code::wrong_state, "the password was changed by somebody else meanwhile");
    uncount_failures(db, attempt);
    events.push_back(
        {.action = "password_changed", .account = account, .detail = {{"logins_ended", *ended}}});
    return *ended;
  });
}

}  // namespace remotist::market
