#include "market/store/accounts.h"

#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

std::optional<Credentials> first_credentials(const pqxx::result& rows) {
  if (rows.empty()) return std::nullopt;
  return Credentials{AccountId::parse(rows[0]["id"].view()).value(),
                     rows[0]["password_hash"].as<std::string>()};
}

}  // namespace

Registration create_account(pg::Session& db, const NewAccount& account) {
  pqxx::params params{
      account.id.text(),         account.email,         account.password_hash, uuid_text(uuid_v7()),
      TransferId::make().text(), account.grant.micro(), account.address,       account.per_address_hour_max};
  params.append(account.invitation_hash ? std::optional{pg::bytes_of(*account.invitation_hash)}
                                        : std::nullopt);
  const auto row = pg::write(db, sql::account_create, params).one_row();
  if (!row["account"].is_null()) return Registration::created;
  if (row["too_many"].as<bool>()) return Registration::too_many_from_address;
  if (!row["invited"].as<bool>()) return Registration::not_invited;
  return Registration::email_taken;
}

std::optional<Credentials> credentials_of(pg::Session& db, std::string_view email) {
  return first_credentials(pg::read(db, sql::account_by_email, pqxx::params{email}));
}

std::optional<Credentials> credentials_of_token(pg::Session& db, std::string_view token_hash) {
  return first_credentials(
      pg::read(db, sql::account_credentials_of_token, pqxx::params{pg::bytes_of(token_hash)}));
}

std::optional<Account> account_of(pg::Session& db, std::string_view token_hash) {
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

std::optional<std::int64_t> change_password(pg::Session& db, std::string_view token_hash,
                                            std::string_view old_hash, std::string_view new_hash) {
  const auto rows =
      pg::write(db, sql::account_change_password, pqxx::params{pg::bytes_of(token_hash), old_hash, new_hash});
  if (rows.empty()) return std::nullopt;
  return rows[0]["sessions_ended"].as<std::int64_t>();
}

std::optional<std::string> create_session_token(pg::Session& db, std::string_view token_hash,
                                                AccountId account, std::chrono::seconds lifetime) {
  const auto rows = pg::write(db, sql::session_token_create,
                              pqxx::params{pg::bytes_of(token_hash), account.text(), lifetime.count()});
  if (rows.empty()) return std::nullopt;
  return rows[0]["expires_at"].as<std::string>();
}

bool end_session_token(pg::Session& db, std::string_view token_hash) {
  return !pg::write(db, sql::session_token_end, pqxx::params{pg::bytes_of(token_hash)}).empty();
}

void forget_expired_tokens(pg::Session& db) {
  pg::write(db, sql::session_token_forget);
}

LoginFailures login_failures(pg::Session& db, std::string_view email, std::string_view address,
                             std::chrono::seconds counted) {
  const auto row = pg::read(db, sql::login_failures, pqxx::params{email, address, counted.count()}).one_row();
  return {row["by_both"].as<std::int64_t>(), row["by_email"].as<std::int64_t>(),
          row["by_address"].as<std::int64_t>()};
}

void record_login_failure(pg::Session& db, std::string_view email, std::string_view address) {
  pg::write(db, sql::login_failure_record, pqxx::params{email, address});
}

void forget_login_failures(pg::Session& db, std::string_view email, std::chrono::seconds counted) {
  pg::write(db, sql::login_failure_forget, pqxx::params{email, counted.count()});
}

std::string create_invitation(pg::Session& db, std::string_view code_hash, std::chrono::seconds lifetime) {
  return pg::write(db, sql::invitation_create, pqxx::params{pg::bytes_of(code_hash), lifetime.count()})
      .one_field()
      .as<std::string>();
}

}  // namespace remotist::market
