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
  std::optional<std::string> address{};          // where it is registered from
  std::optional<std::string> invitation_hash{};  // must be an unused invitation; it is used up
};
enum class Registration { created, email_taken, not_invited };

// What create_account() would say, for whoever does not want to hash a password in vain.
Registration check_registration(pg::Session& db, std::string_view email,
                                const std::optional<std::string>& invitation_hash);

// One transaction: the account, its purse, and the grant from the mint. Unless `created`, nothing is changed.
Registration create_account(pg::Session& db, const NewAccount& account);

// An e-mail counts in any case.
struct Credentials {
  AccountId account;
  std::string email;
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

// From where an account has logged in (subscriber_of()). Known for limits::kLoginOriginDays.
bool is_login_origin(pg::Session& db, std::string_view email, std::string_view address);
void note_login_origin(pg::Session& db, AccountId account, std::string_view address);
void forget_old_login_origins(pg::Session& db);

// For the command line: no old password is needed. Ends every session of the account. Empty when there is
// none.
std::optional<AccountId> set_password(pg::Session& db, std::string_view email,
                                      std::string_view password_hash);

// Returns when it expires.
std::string create_invitation(pg::Session& db, std::string_view code_hash, std::chrono::seconds lifetime);

}  // namespace remotist::market
