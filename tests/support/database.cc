#include "tests/support/database.h"

#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/digest.h"
#include "core/pg/migrate.h"
#include "market/service/accounts.h"
#include "tests/support/environment.h"

namespace remotist::test {

std::string database_url(const std::string& database, bool superuser) {
  // script/up writes postgresql://remotist@/remotist?host=…
  constexpr std::string_view kOwn = "//remotist@/remotist";
  std::string url = env("REMOTIST_DATABASE_URL");
  const auto at = url.find(kOwn);
  REQUIRE(at != std::string::npos);
  return url.replace(at, kOwn.size(), (superuser ? "//postgres@/" : "//remotist@/") + database);
}

Database::Database(Schema schema) : name_("test_" + hex_of(random_bytes(6))), url_(database_url(name_)) {
  {
    pqxx::connection server{database_url("postgres", true)};
    pqxx::nontransaction{server}.exec("CREATE DATABASE " + name_ + " OWNER remotist");
  }
  if (schema == Schema::none) return;
  {
    pqxx::connection own{database_url(name_, true)};
    pqxx::nontransaction{own}.exec("SET client_min_messages = error; CREATE EXTENSION timescaledb");
  }
  if (schema == Schema::migrated) pg::migrate(url_);
}

Database::~Database() {
  try {
    pqxx::connection server{database_url("postgres", true)};
    pqxx::nontransaction{server}.exec("DROP DATABASE " + name_ + " WITH (FORCE)");
  } catch (const std::exception& fault) {
    MESSAGE("could not drop " << name_ << ": " << fault.what());
  }
}

void execute(const std::string& url, const std::string& statement) {
  pqxx::connection connection{url};
  pqxx::nontransaction{connection}.exec(statement);
}

TestAccount make_account(const std::string& url, long long micro_credits) {
  pg::Connection db{url};
  const market::NewAccount account{.email = hex_of(random_bytes(8)) + "@example.org",
                                   .password_hash = "no password",
                                   .grant = Credits::micro(micro_credits)};
  REQUIRE(market::create_account(db, account) == market::Registration::created);
  const auto login = market::create_login(db, account.id, std::chrono::hours{1});
  REQUIRE(login.ok());
  return {account.id.text(), login->token, token_hash(login->token)};
}

void check_ledger(const std::string& url) {
  pqxx::connection connection{url};
  pqxx::read_transaction tx{connection};
  CHECK(tx.query_value<long long>("SELECT coalesce(sum(amount_micro), 0) FROM ledger_entry") == 0);
  CHECK(tx.query_value<long long>("SELECT count(*) FROM (SELECT FROM ledger_entry GROUP BY transfer_id "
                                  "HAVING sum(amount_micro) <> 0 OR count(*) < 2) wrong") == 0);
  CHECK(tx.query_value<long long>(
            "SELECT count(*) FROM ledger_account a WHERE kind IN ('user', 'escrow') AND balance_micro <> "
            "(SELECT coalesce(sum(amount_micro), 0) FROM ledger_entry e WHERE e.ledger_account_id = a.id)") ==
        0);
}

}  // namespace remotist::test
