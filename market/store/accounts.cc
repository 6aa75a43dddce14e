#include "market/store/accounts.h"

#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::market {

bool create_account(pg::Session& db, AccountId id, std::string_view email, std::string_view password_hash,
                    Credits grant) {
  const auto rows = pg::write(db, sql::account_create,
                              pqxx::params{id.text(), email, password_hash, uuid_text(uuid_v7()),
                                           TransferId::make().text(), grant.micro()});
  return !rows.empty();
}

std::optional<Credentials> credentials_of(pg::Session& db, std::string_view email) {
  const auto rows = pg::read(db, sql::account_by_email, pqxx::params{email});
  if (rows.empty()) return std::nullopt;
  return Credentials{AccountId::parse(rows[0]["id"].view()).value(),
                     rows[0]["password_hash"].as<std::string>()};
}

std::optional<std::string> create_session_token(pg::Session& db, std::string_view token_hash,
                                                AccountId account, std::chrono::seconds lifetime) {
  const auto rows = pg::write(db, sql::session_token_create,
                              pqxx::params{pg::bytes_of(token_hash), account.text(), lifetime.count()});
  if (rows.empty()) return std::nullopt;
  return rows[0]["expires_at"].as<std::string>();
}

}  // namespace remotist::market
