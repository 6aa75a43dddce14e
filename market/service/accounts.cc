#include "market/service/accounts.h"

#include <algorithm>

#include "core/digest.h"
#include "core/limits.h"
#include "market/store/accounts.h"

namespace remotist::market {
namespace {

// Tokens begin with a word that secret scanners can be taught to find.
constexpr std::string_view kUserTokenPrefix = "remotist_user_";
constexpr std::size_t kTokenBytes = 32;

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

Result<void> check_password(std::string_view password) {
  if (password.size() < limits::kPasswordBytesMin || password.size() > limits::kPasswordBytesMax) {
    return refuse(Code::invalid_field,
                  "a password has " + std::to_string(limits::kPasswordBytesMin) + " to " +
                      std::to_string(limits::kPasswordBytesMax) + " bytes",
                  "password");
  }
  return {};
}

Result<AccountView> register_account(pg::Session& db, std::string_view email, std::string_view password_hash,
                                     Credits grant) {
  const auto id = AccountId::make();
  if (!create_account(db, id, email, password_hash, grant)) {
    return refuse(Code::email_taken, "an account with this e-mail exists already: log in instead", "email");
  }
  return AccountView{id, std::string{email}};
}

Result<OpenedSession> open_session(pg::Session& db, AccountId account, std::chrono::seconds lifetime) {
  std::string token = std::string{kUserTokenPrefix} + base64url_of(random_bytes(kTokenBytes));
  const auto expires_at = create_session_token(db, token_hash(token), account, lifetime);
  if (!expires_at) return refuse(Code::wrong_credentials, "e-mail and password do not match an account");
  return OpenedSession{std::move(token), *expires_at};
}

std::string token_hash(std::string_view token) {
  return sha256(token);
}

}  // namespace remotist::market
