#include "market/service/create_admin.h"

#include <string>

#include "market/service/checks.h"
#include "market/service/passwords.h"
#include "market/store/accounts.h"
#include "market/store/admin.h"
#include "market/store/audit.h"

namespace remotist::market {

Result<AccountId> create_admin(pg::Connection& db, std::string_view email, std::string_view password) {
  if (auto checked = check_email(email); !checked) return checked.refusal();
  if (auto checked = check_password(password); !checked) return checked.refusal();
  const NewAccount account{.email = std::string{email}, .password_hash = hash_password(password)};
  return db.transact([&]() -> Result<AccountId> {
    if (create_account(db, account) != Registration::created) {
      return refuse(Code::email_taken, "an account with the e-mail " + account.email + " exists already",
                    "email");
    }
    make_admin(db, account.id);
    record_event(db, {}, {.action = "admin_created", .subject = account.id.text()});
    return account.id;
  });
}

}  // namespace remotist::market
