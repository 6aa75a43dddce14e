#include "core/pg/migrate.h"

#include <chrono>
#include <iterator>
#include <optional>
#include <thread>

#include "core/digest.h"
#include "core/log.h"
#include "core/pg/statement.h"
#include "sql_migrations.h"
#include "sql_queries.h"

namespace remotist::pg {
namespace {

void require_timescaledb(Connection& connection) {
  const auto row = read(connection, sql::schema_timescaledb_version).one_row();
  const auto [installed, available, database] = row.as<std::string, std::string, std::string>();
  if (!installed.empty()) return;
  if (available.empty()) {
    throw SchemaMismatch{
        "this PostgreSQL has no TimescaleDB. Install the package postgresql-17-timescaledb (script/bootstrap "
        "does), "
        "add timescaledb to shared_preload_libraries, restart PostgreSQL and try again"};
  }
  throw SchemaMismatch{"the database '" + database +
                       "' has no TimescaleDB yet. As a superuser of it run: CREATE EXTENSION timescaledb;"};
}

// How many of our migrations the database has. Throws when it has any other.
std::size_t applied_count(Connection& connection) {
  if (!read(connection, sql::schema_migration_table_exists).one_field().as<bool>()) return 0;
  const auto rows = read(connection, sql::schema_migration_list);
  if (static_cast<std::size_t>(rows.size()) > std::size(sql::kMigrations)) {
    throw SchemaMismatch{"the database has " + std::to_string(rows.size()) +
                         " migrations, this program only " + std::to_string(std::size(sql::kMigrations)) +
                         ": it is older than the database. Run a newer one"};
  }
  for (const auto& row : rows) {
    const auto& ours = sql::kMigrations[row.num()];
    if (row["number"].as<int>() != ours.number || text_of(row["sha256"]) != sha256(ours.text)) {
      throw SchemaMismatch{
          "migration " + std::string{ours.name} +
          " was applied with another text than this program carries. Migrations never change: "
          "restore the file and add a new one"};
    }
  }
  return static_cast<std::size_t>(rows.size());
}

}  // namespace

std::vector<std::string> migrate(const std::string& url) {
  Connection connection{url, {.statement_timeout = std::chrono::milliseconds{0}}};
  require_timescaledb(connection);
  std::vector<std::string> applied;
  for (;;) {
    const auto name = connection.transact([&]() -> std::optional<std::string> {
      // Held to the end of this transaction; whoever waited for it counts again.
      write(connection, sql::schema_migration_lock);
      const std::size_t next = applied_count(connection);
      if (next == std::size(sql::kMigrations)) return std::nullopt;
      const Migration& migration = sql::kMigrations[next];
      run_script(connection, std::string{migration.text});
      const std::string digest = sha256(migration.text);
      write(connection, sql::schema_migration_record,
            pqxx::params{migration.number, std::string{migration.name}, bytes_of(digest)});
      return std::string{migration.name};
    });
    if (!name) return applied;
    applied.push_back(*name);
  }
}

void require_schema(Connection& connection) {
  require_timescaledb(connection);
  const std::size_t applied = applied_count(connection);
  if (applied < std::size(sql::kMigrations)) {
    throw SchemaMismatch{"the database has " + std::to_string(applied) + " of " +
                         std::to_string(std::size(sql::kMigrations)) +
                         " migrations. Run: remotist-market migrate"};
  }
}

void await_schema(const std::string& url) {
  Connection db{url};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  for (bool told = false;; told = true) {
    try {
      return require_schema(db);
    } catch (const Unavailable& fault) {
      if (std::chrono::steady_clock::now() > deadline) throw;
      if (!told) log::info("waiting_for_database", {{"why", fault.what()}});
      std::this_thread::sleep_for(std::chrono::milliseconds{200});
    }
  }
}

}  // namespace remotist::pg
