// What admins may do. Everything refuses with unauthenticated, or with forbidden when the caller is no admin;
// both before anything is looked at or changed. What changes something runs in the caller's transaction,
// which records it in the audit log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/credits.h"
#include "core/id.h"
#include "core/pg/session.h"
#include "core/result.h"
#include "market/store/jobs.h"
#include "market/store/ledger.h"
#include "market/store/machines.h"

namespace remotist::market {

struct ListedAccount {
  std::string id;
  std::string email;
  std::string role;
  std::string created_at;
  std::optional<std::string> disabled_at;
  Credits balance;
};
struct AccountPage {
  std::vector<ListedAccount> accounts;  // newest first
  bool more;
};
Result<AccountPage> list_accounts(pg::Session& db, std::string_view token_hash, int page, int rows);

// A disabled account's tokens end at once, on every market, and so do the sessions of its machines; workers
// hand what they had to others, and cancel the account's own jobs. Writes messages. not_found.
Result<void> set_disabled(pg::Session& db, std::string_view token_hash, AccountId account, bool disabled);

// From the mint. Under one key it happens once, and then this is true; idempotency_mismatch when the key was
// used for another grant. not_found.
Result<bool> grant_credits(pg::Session& db, std::string_view token_hash, AccountId account, Credits amount,
                           std::string_view idempotency_key);

// Everybody's jobs.
Result<JobPage> list_all_jobs(pg::Session& db, std::string_view token_hash, std::optional<JobState> state,
                              int page, int rows);

Result<MachinePage> list_all_machines(pg::Session& db, std::string_view token_hash, int page, int rows);

// A banned machine gets no token and no session; what it had goes to others. Writes messages. not_found.
Result<void> ban_machine(pg::Session& db, std::string_view token_hash, MachineId machine,
                         std::string_view reason);
Result<void> unban_machine(pg::Session& db, std::string_view token_hash, MachineId machine);

// wrong_state when more is used already; not_found.
Result<void> set_quota(pg::Session& db, std::string_view token_hash, AccountId account, std::int64_t bytes);

// Refuses whoever is not an admin; gives who it is.
Result<AccountId> check_admin(pg::Session& db, std::string_view token_hash);

Result<std::vector<Invariant>> audit_as(pg::Session& db, std::string_view token_hash);

// Returns when it expires.
Result<std::string> invite(pg::Session& db, std::string_view token_hash, std::string_view code_hash,
                           std::chrono::seconds lifetime);

// For the command line, which needs no token.
void make_admin(pg::Session& db, AccountId account);

}  // namespace remotist::market
