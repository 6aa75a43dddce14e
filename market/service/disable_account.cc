#include "market/service/disable_account.h"

#include "market/service/evictions.h"
#include "market/store/admin.h"

namespace remotist::market {

Result<void> disable_account(pg::Connection& db, std::string_view token_hash, AccountId account,
                             bool disabled) {
  if (auto done = set_disabled(db, token_hash, account, disabled); !done) return done;
  if (disabled) evict_machines_of(db, account, "an admin has disabled this machine's account");
  return {};
}

}  // namespace remotist::market
