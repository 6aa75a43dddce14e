#include "core/pg/migrate.h"

#include <atomic>
#include <doctest/doctest.h>
#include <pqxx/pqxx>
#include <thread>

#include "core/digest.h"
#include "core/pg/statement.h"
#include "sql_migrations.h"
#include "sql_queries.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "worker/store/reaping.h"

using namespace remotist;
using test::Database;
using test::execute;

namespace {

// Everything before the migration with that number.
void migrate_before(const std::string& url, int number) {
  pg::Connection db{url};
  for (const auto& migration : sql::kMigrations) {
    if (migration.number == number) return;
    db.transact([&] {
      pg::run_script(db, std::string{migration.text});
      const std::string digest = sha256(migration.text);
      pg::write(db, sql::schema_migration_record,
                pqxx::params{migration.number, std::string{migration.name}, pg::bytes_of(digest)});
    });
  }
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
  pg::Connection db{database.url()};
  CHECK_NOTHROW(pg::require_schema(db));
}

TEST_CASE("without TimescaleDB nothing is migrated and the error says how to install it") {
  const Database database{Database::Schema::none};
  CHECK_THROWS_WITH(pg::migrate(database.url()), doctest::Contains("CREATE EXTENSION timescaledb"));
  pg::Connection db{database.url()};
  CHECK_THROWS_AS(pg::require_schema(db), pg::SchemaMismatch);
}

TEST_CASE("a database that lacks a migration, has a changed one, or one more than ours is refused") {
  const Database database;
  pg::Connection db{database.url()};
  const auto last = std::to_string(std::size(sql::kMigrations));

  execute(database.url(),
          "UPDATE schema_migration SET sha256 = decode(repeat('00', 32), 'hex') WHERE number = 2");
  CHECK_THROWS_WITH(pg::require_schema(db), doctest::Contains("applied with another text"));
  CHECK_THROWS_AS(pg::migrate(database.url()), pg::SchemaMismatch);

  const Database short_one;
  execute(short_one.url(), "DELETE FROM schema_migration WHERE number = " + last);
  pg::Connection short_db{short_one.url()};
  CHECK_THROWS_WITH(pg::require_schema(short_db), doctest::Contains("remotist-market migrate"));

  const Database newer;
  execute(newer.url(), "INSERT INTO schema_migration VALUES (" + last + " + 1, 'future', '')");
  pg::Connection newer_db{newer.url()};
  CHECK_THROWS_WITH(pg::require_schema(newer_db), doctest::Contains("older than the database"));
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

TEST_CASE("jobs of accounts that were disabled before disabling ended them are ended after the migration") {
  const Database database{Database::Schema::timescaledb};
  migrate_before(database.url(), 19);
  const auto account = [&](const std::string& name, const std::string& disabled_at) {
    execute(database.url(),
            "WITH made AS (INSERT INTO account (id, email, password_hash, disabled_at) VALUES "
            "(gen_random_uuid(), '" +
                name + "', 'x', " + disabled_at +
                ") RETURNING id) INSERT INTO ledger_account (id, kind, account_id) SELECT gen_random_uuid(), "
                "'user', id FROM made");
    execute(
        database.url(),
        "INSERT INTO job (id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, "
        "price_micro, submitted_at, rank) SELECT gen_random_uuid(), a.id, 'j', 'm.R', s.state, 1, 64, 1, 0, "
        "now(), now() FROM account a, unnest(ARRAY['uploading', 'queued']::job_state[]) s (state) WHERE "
        "a.email = '" +
            name + "'");
  };
  account("disabled@b", "now() - interval '1 year'");
  account("enabled@b", "NULL");
  pg::migrate(database.url());

  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  CHECK(tx.query_value<std::string>("SELECT string_agg(email, ' ') FROM account WHERE ending") ==
        "disabled@b");
  pg::Connection db{database.url()};
  CHECK(worker::cancel_jobs_of_disabled(db) == 2);
  CHECK(worker::cancel_jobs_of_disabled(db) == 0);
  const auto states = [&](const std::string& email) {
    return tx.query_value<std::string>(
        "SELECT string_agg(j.state::text, ' ' ORDER BY j.state) FROM job j JOIN account a ON a.id = "
        "j.account_id WHERE a.email = $1",
        pqxx::params{email});
  };
  CHECK(states("disabled@b") == "cancelled cancelled");
  CHECK(states("enabled@b") == "uploading queued");
  CHECK(tx.query_value<int>("SELECT count(*) FROM account WHERE ending") == 0);
  CHECK(tx.query_value<int>("SELECT sum(uploading_jobs) FROM account_tally") == 1);
}

TEST_CASE("logins that were recorded one by one are merged by the migration") {
  const Database database{Database::Schema::timescaledb};
  migrate_before(database.url(), 22);
  execute(database.url(),
          "INSERT INTO audit_event (at, action, account_id, address) SELECT at::timestamptz, action, "
          "account::uuid, address::inet FROM (VALUES "
          "('2026-01-01 10:01Z', 'login', '00000000-0000-7000-8000-00000000000a', '192.0.2.1'), "
          "('2026-01-01 10:59Z', 'login', '00000000-0000-7000-8000-00000000000a', '192.0.2.1'), "
          "('2026-01-01 11:00Z', 'login', '00000000-0000-7000-8000-00000000000a', '192.0.2.1'), "
          "('2026-01-01 10:01Z', 'login', '00000000-0000-7000-8000-00000000000a', '2001:db8::1'), "
          "('2026-01-01 10:01Z', 'login', '00000000-0000-7000-8000-00000000000a', '2001:db8::2'), "
          "('2026-01-01 10:01Z', 'login', '00000000-0000-7000-8000-00000000000b', '192.0.2.1'), "
          "('2026-01-01 10:01Z', 'invited', '00000000-0000-7000-8000-00000000000a', '192.0.2.1'), "
          "('2026-01-01 10:01Z', 'invited', '00000000-0000-7000-8000-00000000000a', '192.0.2.1')) "
          "e (at, action, account, address)");
  pg::migrate(database.url());
  pqxx::connection connection{database.url()};
  CHECK(pqxx::nontransaction{connection}.query_value<std::string>(
            "SELECT string_agg(count::text, ' ' ORDER BY id) FROM audit_event") == "2 1 2 1 1 1");
}

TEST_CASE("heartbeats are hypertables") {
  const Database database;
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  CHECK(tx.query_value<int>("SELECT count(*) FROM timescaledb_information.hypertables "
                            "WHERE hypertable_name IN ('heartbeat', 'heartbeat_minute')") == 2);
}
