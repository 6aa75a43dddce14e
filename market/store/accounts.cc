#include "market/store/accounts.h"

#include "core/limits.h"
#include "core/pg/statement.h"
#include "market/store/delete_old_rows.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

std::optional<Credentials> first_credentials(const pqxx::result& rows) {
  if (rows.empty()) return std::nullopt;
  return Credentials{.account = AccountId::parse(rows[0]["id"].view()).value(),
                     .email = rows[0]["email"].as<std::string>(),
                     .password_hash = rows[0]["password_hash"].as<std::string>()};
}

}  // namespace

Registration check_registration(pg::Connection& db, std::string_view email,
                                const std::optional<std::string>& invitation_hash) {
  pqxx::params params{email};
  params.append(invitation_hash ? std::optional{pg::bytes_of(*invitation_hash)} : std::nullopt);
  const auto row = pg::read(db, sql::registration_check, params).one_row();
  if (!row["invited"].as<bool>()) return Registration::not_invited;
  return row["taken"].as<bool>() ? Registration::email_taken : Registration::created;
}

Registration create_account(pg::Connection& db, const NewAccount& account) {
  pqxx::params params{
      account.id.text(),         account.email,         account.password_hash, uuid_text(uuid_v7()),
      TransferId::make().text(), account.grant.micro(), account.address};
  params.append(account.invitation_hash ? std::optional{pg::bytes_of(*account.invitation_hash)}
                                        : std::nullopt);
  const auto row = pg::write(db, sql::account_create, params).one_row();
  if (!row["account"].is_null()) return Registration::created;
  return row["invited"].as<bool>() ? Registration::email_taken : Registration::not_invited;
}

std::optional<Credentials> credentials_of(pg::Connection& db, std::string_view email) {
  return first_credentials(pg::read(db, sql::account_by_email, pqxx::params{email}));
}

std::optional<Credentials> credentials_of_token(pg::Connection& db, std::string_view token_hash) {
  return first_credentials(
      pg::read(db, sql::account_credentials_of_token, pqxx::params{pg::bytes_of(token_hash)}));
}

std::optional<Account> account_of(pg::Connection& db, std::string_view token_hash) {
  const auto rows = pg::read(db, sql::account_view, pqxx::params{pg::bytes_of(token_hash)});
  if (rows.empty()) return std::nullopt;
  const auto row = rows[0];
  return Account{.id = AccountId::parse(row["id"].view()).value(),
                 .email = row["email"].as<std::string>(),
                 .role = row["role"].as<std::string>(),
                 .created_at = row["created_at"].as<std::string>(),
                 .balance = Credits::micro(row["balance_micro"].as<std::int64_t>()),
                 .held = Credits::micro(row["held_micro"].as<std::int64_t>()),
                 .storage_used = row["used_bytes"].as<std::int64_t>(),
                 .storage_quota = row["quota_bytes"].as<std::int64_t>()};
}

std::optional<std::int64_t> change_password(pg::Connection& db, std::string_view token_hash,
                                            std::string_view old_hash, std::string_view new_hash) {
  const auto rows =
      pg::write(db, sql::account_change_password, pqxx::params{pg::bytes_of(token_hash), old_hash, new_hash});
  if (rows.empty()) return std::nullopt;
  return rows[0]["logins_ended"].as<std::int64_t>();
}

std::optional<std::string> create_login_token(pg::Connection& db, std::string_view token_hash,
                                              AccountId account, std::chrono::seconds lifetime) {
  const auto rows = pg::write(
      db, sql::login_token_create,
      pqxx::params{pg::bytes_of(token_hash), account.text(), lifetime.count(), limits::kLoginsPerAccountMax});
  if (rows.empty()) return std::nullopt;
  return rows[0]["expires_at"].as<std::string>();
}

bool end_login_token(pg::Connection& db, std::string_view token_hash) {
  return !pg::write(db, sql::login_token_end, pqxx::params{pg::bytes_of(token_hash)}).empty();
}

void delete_expired_tokens(pg::Connection& db) {
  delete_old_rows(db, sql::login_token_delete_expired);
}

bool is_login_origin(pg::Connection& db, std::string_view email, std::string_view address) {
  return pg::read(db, sql::login_origin_known, pqxx::params{email, address, limits::kLoginOriginDays})
      .one_field()
      .as<bool>();
}

void record_login_origin(pg::Connection& db, AccountId account, std::string_view address) {
  pg::write(db, sql::login_origin_record, pqxx::params{account.text(), address});
}

void delete_old_login_origins(pg::Connection& db) {
  delete_old_rows(db, sql::login_origin_delete_old, pqxx::params{limits::kLoginOriginDays});
}

std::optional<AccountId> set_password(pg::Connection& db, std::string_view email,
                                      std::string_view password_hash) {
  const auto rows = pg::write(db, sql::account_set_password, pqxx::params{email, password_hash});
  if (rows.empty()) return std::nullopt;
  return AccountId::parse(rows[0]["id"].view());
}

std::string create_invitation(pg::Connection& db, std::string_view code_hash, std::chrono::seconds lifetime) {
  return pg::write(db, sql::invitation_create, pqxx::params{pg::bytes_of(code_hash), lifetime.count()})
      .one_field()
      .as<std::string>();
}

}  // namespace remotist::market
