// Operations of admins. All refuse with unauthenticated, or with forbidden when the caller is no admin,
// before they read or change anything. Changes run in the caller's transaction, which records them in the
// audit log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/credits.h"
#include "core/id.h"
#include "core/pg/connection.h"
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
Result<AccountPage> list_accounts(pg::Connection& db, std::string_view token_hash, int page, int rows);

// Sets or clears the mark, and ends the account's tokens; disable_account() does the rest. not_found.
Result<void> set_disabled(pg::Connection& db, std::string_view token_hash, AccountId account, bool disabled);

// Transfers credits from the mint, once for each key; false when the key was used before for the same grant,
// idempotency_mismatch when for another. not_found.
Result<bool> grant_credits(pg::Connection& db, std::string_view token_hash, AccountId account, Credits amount,
                           std::string_view idempotency_key);

// Everybody's jobs.
Result<JobPage> list_all_jobs(pg::Connection& db, std::string_view token_hash, std::optional<JobState> state,
                              int page, int rows);

Result<MachinePage> list_all_machines(pg::Connection& db, std::string_view token_hash, int page, int rows);

// Sets the machine's ban and ends its tokens, or without a reason ends the ban; ban_machine() does the rest.
// Requires lock_machine_session(). not_found.
Result<void> set_ban(pg::Connection& db, std::string_view token_hash, MachineId machine,
                     const std::optional<std::string>& reason);

// wrong_state when more is used already; not_found.
Result<void> set_quota(pg::Connection& db, std::string_view token_hash, AccountId account,
                       std::int64_t bytes);

// Returns the admin's account; refuses everybody else.
Result<AccountId> check_admin(pg::Connection& db, std::string_view token_hash);

Result<std::vector<Invariant>> audit_as(pg::Connection& db, std::string_view token_hash);

// Returns when it expires.
Result<std::string> invite(pg::Connection& db, std::string_view token_hash, std::string_view code_hash,
                           std::chrono::seconds lifetime);

// For the command line, without a token.
void make_admin(pg::Connection& db, AccountId account);

}  // namespace remotist::market
