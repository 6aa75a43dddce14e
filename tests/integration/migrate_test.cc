#include "core/pg/migrate.h"

#include <atomic>
#include <doctest/doctest.h>
#include <pqxx/pqxx>
#include <thread>

#include "core/pg/statement.h"
#include "sql_migrations.h"
#include "sql_queries.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"

using namespace remotist;
using test::Database;

namespace {

void execute(const std::string& url, const std::string& statement) {
  pqxx::connection connection{url};
  pqxx::nontransaction{connection}.exec(statement);
}

}  // namespace

TEST_CASE("any number of migrators on one empty database apply each migration once, and all succeed") {
  const Database database{Database::Schema::timescaledb};
  std::atomic<std::size_t> applied = 0;
  std::atomic<int> succeeded = 0;
  std::vector<std::thread> migrators;
  for (int i = 0; i < 8; ++i) {
    migrators.emplace_back([&] {
      applied += pg::migrate(database.url()).size();
      ++succeeded;
    });
  }
  for (auto& migrator : migrators) migrator.join();
  CHECK(succeeded == 8);
  CHECK(applied == std::size(sql::kMigrations));
  CHECK(pg::migrate(database.url()).empty());
  pg::Session session{database.url()};
  CHECK_NOTHROW(pg::require_schema(session));
}

TEST_CASE("without TimescaleDB nothing is migrated and the way to get it is told") {
  const Database database{Database::Schema::none};
  CHECK_THROWS_WITH(pg::migrate(database.url()), doctest::Contains("CREATE EXTENSION timescaledb"));
  pg::Session session{database.url()};
  CHECK_THROWS_AS(pg::require_schema(session), pg::SchemaMismatch);
}

TEST_CASE("a database that lacks a migration, has a changed one, or one more than ours is refused") {
  const Database database;
  pg::Session session{database.url()};
  const auto last = std::to_string(std::size(sql::kMigrations));

  execute(database.url(),
          "UPDATE schema_migration SET sha256 = decode(repeat('00', 32), 'hex') WHERE number = 2");
  CHECK_THROWS_WITH(pg::require_schema(session), doctest::Contains("applied with another text"));
  CHECK_THROWS_AS(pg::migrate(database.url()), pg::SchemaMismatch);

  const Database short_one;
  execute(short_one.url(), "DELETE FROM schema_migration WHERE number = " + last);
  pg::Session short_session{short_one.url()};
  CHECK_THROWS_WITH(pg::require_schema(short_session), doctest::Contains("remotist-market migrate"));

  const Database newer;
  execute(newer.url(), "INSERT INTO schema_migration VALUES (" + last + " + 1, 'future', '')");
  pg::Session newer_session{newer.url()};
  CHECK_THROWS_WITH(pg::require_schema(newer_session), doctest::Contains("older than the database"));
}

TEST_CASE("every named query fits the schema") {
  const Database database;
  pqxx::connection connection{database.url()};
  for (const auto& query : sql::kAllQueries) {
    CAPTURE(query.name);
    CHECK_NOTHROW(connection.prepare(query.name.data(), query.text.data()));
  }
}

TEST_CASE("sql/schema.sql is what the migrations make") {
  const Database database;
  const std::string script = "'" + test::env("REMOTIST_ROOT") + "/script/schema'";
  CHECK_NOTHROW(test::output_of(script + " --check '" + database.url() + "'"));
}

TEST_CASE("heartbeats are hypertables") {
  const Database database;
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  CHECK(tx.query_value<int>("SELECT count(*) FROM timescaledb_information.hypertables "
                            "WHERE hypertable_name IN ('heartbeat', 'heartbeat_minute')") == 2);
}
