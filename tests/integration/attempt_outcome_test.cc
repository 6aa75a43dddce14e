// What the database derives from an attempt's outcome, compared with the table of core/attempt_outcome.cc.
#include "core/attempt_outcome.h"

#include <chrono>
#include <doctest/doctest.h>
#include <format>
#include <pqxx/pqxx>
#include <set>
#include <string>
#include <string_view>

#include "sql_queries.h"
#include "tests/support/database.h"

using namespace remotist;
using test::Database;

namespace {

constexpr std::chrono::seconds kTenYears = std::chrono::years{10};

// Whether an attempt that ended so long ago excludes its machine. now() is the time at which the transaction
// began, so the age is exact.
bool excludes(pqxx::transaction_base& tx, const OutcomeRow& row, std::chrono::milliseconds age,
              int checkpoints = 0) {
  return tx.query_value<bool>(
      "SELECT attempt_excludes($1::attempt_outcome, now() - make_interval(secs => $2::bigint / 1000.0), $3)",
      pqxx::params{row.name, age.count(), checkpoints});
}

}  // namespace

TEST_CASE("the database and the program have the same outcomes of an attempt") {
  const Database database;
  pqxx::connection connection{database.url()};
  pqxx::work tx{connection};
  std::set<std::string> in_program;
  for (const auto& row : outcome_table()) in_program.emplace(row.name);
  std::set<std::string> in_database;
  for (const auto& row : tx.exec("SELECT unnest(enum_range(NULL::attempt_outcome))::text AS name"))
    in_database.insert(row["name"].as<std::string>());
  CHECK(in_database == in_program);
}

TEST_CASE("the database pays for an outcome, and queues its job again, as the program's table says") {
  const Database database;
  pqxx::connection connection{database.url()};
  pqxx::work tx{connection};
  for (const auto& row : outcome_table()) {
    CAPTURE(row.name);
    const pqxx::params outcome{row.name};
    CHECK(tx.query_value<std::string>("SELECT attempt_pay($1::attempt_outcome)", outcome) ==
          name_of(row.pay));
    CHECK(tx.query_value<bool>("SELECT attempt_requeues($1::attempt_outcome)", outcome) ==
          (row.job_becomes == JobState::queued));
  }
}

TEST_CASE("each counter of the program's table is a column of job that a requeued job increments") {
  const Database database;
  pqxx::connection connection{database.url()};
  pqxx::work tx{connection};
  for (const auto& row : outcome_table()) {
    if (!row.too_often) continue;
    const std::string counter{name_of(row.too_often->counter)};
    CAPTURE(counter);
    CHECK(tx.query_value<int>("SELECT count(*) FROM information_schema.columns "
                              "WHERE table_name = 'job' AND column_name = $1",
                              pqxx::params{counter}) == 1);
    const std::string_view query{sql::job_requeue.text};
    CHECK(query.contains(std::format("{0} = {0} + ($2::text = '{0}')", counter)));
    CHECK(query.contains(std::format("WHEN '{0}' THEN {0} + 1 < $3", counter)));
  }
}

TEST_CASE("the database excludes a machine from a job for as long as the program's table says") {
  using namespace std::chrono_literals;
  const Database database;
  pqxx::connection connection{database.url()};
  pqxx::work tx{connection};
  for (const auto& row : outcome_table()) {
    CAPTURE(row.name);
    if (row.excludes_machine == 0s) {
      CHECK_FALSE(excludes(tx, row, 0ms));
    } else if (row.excludes_machine == kForGood) {
      CHECK(excludes(tx, row, 0ms));
      CHECK(excludes(tx, row, kTenYears));
    } else {
      CHECK(excludes(tx, row, 0ms));
      CHECK(excludes(tx, row, row.excludes_machine - 1ms));
      CHECK_FALSE(excludes(tx, row, row.excludes_machine));
      CHECK_FALSE(excludes(tx, row, kTenYears));
    }
    for (const int checkpoints : {1, 1000}) {
      const bool excluded = row.excludes_machine != 0s && !row.checkpoint_readmits;
      CHECK(excludes(tx, row, 0ms, checkpoints) == excluded);
    }
  }
}
