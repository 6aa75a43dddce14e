// Accounts, login tokens, login origins and invitations in the database.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/credits.h"
#include "core/id.h"
#include "core/pg/connection.h"

namespace remotist::market {

struct NewAccount {
  AccountId id = AccountId::make();
  std::string email{};
  std::string password_hash{};
  Credits grant{};
  std::optional<std::string> address{};          // that it is registered from
  std::optional<std::string> invitation_hash{};  // of an unused invitation, which is then used
};
enum class Registration { created, email_taken, not_invited };

// What create_account() would return; checked before a password is hashed.
Registration check_registration(pg::Connection& db, std::string_view email,
                                const std::optional<std::string>& invitation_hash);

// Creates the account, its ledger account and the initial grant in one statement. Unless it returns
// `created`, nothing is changed.
Registration create_account(pg::Connection& db, const NewAccount& account);

// E-mails are compared without regard to case.
struct Credentials {
  AccountId account;
  std::string email;
  std::string password_hash;
};
// Empty when there is no such account, or it is disabled.
std::optional<Credentials> credentials_of(pg::Connection& db, std::string_view email);
// Empty when the token is not valid.
std::optional<Credentials> credentials_of_token(pg::Connection& db, std::string_view token_hash);

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
std::optional<Account> account_of(pg::Connection& db, std::string_view token_hash);

// Ends every other login of the account and returns their number. Empty when the token is not valid or
// `old_hash` is no longer the password's.
std::optional<std::int64_t> change_password(pg::Connection& db, std::string_view token_hash,
                                            std::string_view old_hash, std::string_view new_hash);

// Returns when the token expires, or nothing when the account was disabled meanwhile.
std::optional<std::string> create_login_token(pg::Connection& db, std::string_view token_hash,
                                              AccountId account, std::chrono::seconds lifetime);
// False when it was not valid.
bool end_login_token(pg::Connection& db, std::string_view token_hash);

// Deletes those that expired more than a day ago.
void delete_expired_tokens(pg::Connection& db);

// The addresses (subscriber_of()) from which an account has logged in, kept for limits::kLoginOriginDays.
bool is_login_origin(pg::Connection& db, std::string_view email, std::string_view address);
void record_login_origin(pg::Connection& db, AccountId account, std::string_view address);
void delete_old_login_origins(pg::Connection& db);

// For the command line, without the old password. Ends every login of the account. Empty when there is no
// such account.
std::optional<AccountId> set_password(pg::Connection& db, std::string_view email,
                                      std::string_view password_hash);

// Returns when it expires.
std::string create_invitation(pg::Connection& db, std::string_view code_hash, std::chrono::seconds lifetime);

}  // namespace remotist::market
