// Accounts, their tokens, and what guards the way in, in the database.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/credits.h"
#include "core/id.h"
#include "core/pg/session.h"

namespace remotist::market {

struct NewAccount {
  AccountId id = AccountId::make();
  std::string email{};
  std::string password_hash{};
  Credits grant{};
  std::optional<std::string> address{};          // where it is registered from; none: not counted
  std::int64_t per_address_hour_max = 0;         // accounts from that address within an hour
  std::optional<std::string> invitation_hash{};  // must be an unused invitation; it is used up
};
enum class Registration { created, email_taken, too_many_from_address, not_invited };

// One transaction: the account, its purse, and the grant from the mint. Unless `created`, nothing is changed.
Registration create_account(pg::Session& db, const NewAccount& account);

// An e-mail counts in any case.
struct Credentials {
  AccountId account;
  std::string password_hash;
};
// Empty when there is no such account, or it is disabled.
std::optional<Credentials> credentials_of(pg::Session& db, std::string_view email);
// Empty when the token is not valid.
std::optional<Credentials> credentials_of_token(pg::Session& db, std::string_view token_hash);

struct Account {
  AccountId id;
  std::string email;
  std::string role;
  std::string created_at;
  Credits balance;  // to spend
  Credits held;     // in the escrow of its jobs
  std::int64_t storage_used;
  std::int64_t storage_quota;
};
std::optional<Account> account_of(pg::Session& db, std::string_view token_hash);

// Ends every other session of the account. Empty when the token is not valid or `old_hash` is no longer the
// password's.
std::optional<std::int64_t> change_password(pg::Session& db, std::string_view token_hash,
                                            std::string_view old_hash, std::string_view new_hash);

// Returns when the token expires, or nothing when the account was disabled meanwhile.
std::optional<std::string> create_session_token(pg::Session& db, std::string_view token_hash,
                                                AccountId account, std::chrono::seconds lifetime);
// False when it was not valid.
bool end_session_token(pg::Session& db, std::string_view token_hash);

// Deletes those that expired more than a day ago.
void forget_expired_tokens(pg::Session& db);

struct LoginFailures {
  std::int64_t by_both;
  std::int64_t by_email;
  std::int64_t by_address;
};
LoginFailures login_failures(pg::Session& db, std::string_view email, std::string_view address,
                             std::chrono::seconds counted);
void record_login_failure(pg::Session& db, std::string_view email, std::string_view address);
// Those of this e-mail, and all that no longer count.
void forget_login_failures(pg::Session& db, std::string_view email, std::chrono::seconds counted);

// Returns when it expires.
std::string create_invitation(pg::Session& db, std::string_view code_hash, std::chrono::seconds lifetime);

}  // namespace remotist::market
