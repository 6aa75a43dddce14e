#include "market/service/reset_password.h"

#include <string>

#include "market/service/checks.h"
#include "market/service/passwords.h"
#include "market/store/accounts.h"
#include "market/store/audit.h"

namespace remotist::market {

Result<AccountId> reset_password(pg::Connection& db, std::string_view email, std::string_view password) {
  if (auto checked = check_password(password); !checked) return checked.refusal();
  const std::string hash = hash_password(password);
  return db.transact([&]() -> Result<AccountId> {
    const auto account = set_password(db, email, hash);
    if (!account) {
      return refuse(Code::not_found, "there is no account with the e-mail " + std::string{email}, "email");
    }
    record_event(db, {}, {.action = "password_reset", .subject = account->text()});
    return *account;
  });
}

}  // namespace remotist::market
