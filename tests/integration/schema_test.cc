// What the database refuses by itself, whatever a program asks for.
#include <atomic>
#include <doctest/doctest.h>
#include <format>
#include <pqxx/pqxx>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "core/id.h"
#include "core/job_state.h"
#include "core/pg/connection.h"
#include "core/watched_record.h"
#include "market/store/jobs.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"

using namespace remotist;
using test::Database;

namespace {

// The name of the constraint that refused the statement, or "" when it was accepted.
std::string refused_by(pqxx::connection& connection, const std::string& statement) {
  connection.set_verbosity(pqxx::error_verbosity::verbose);
  try {
    pqxx::work tx{connection};
    tx.exec(statement);
    tx.commit();
    return "";
  } catch (const pqxx::sql_error& fault) {
    const std::string what = fault.what();
    const auto mark = what.find("CONSTRAINT NAME:  ");
    return mark == std::string::npos ? what : what.substr(mark + 18, what.find('\n', mark) - mark - 18);
  }
}

market::NewJob job_priced(std::int64_t micro) {
  market::NewJob job;
  job.name = "j";
  job.exec_file = "main.R";
  job.code = "1";
  job.price = Credits::micro(micro);
  job.submit = true;
  return job;
}

}  // namespace

TEST_CASE("the database and the program agree on every move of a job's state") {
  const Database database;
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  for (const JobState from : kJobStates) {
    for (const JobState to : kJobStates) {
      if (from == to) continue;
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      CHECK(tx.query_value<bool>("SELECT job_state_may_move($1::job_state, $2::job_state)",
                                 pqxx::params{name_of(from), name_of(to)}) == may_move(from, to));
    }
  }
}

TEST_CASE("the database and the program have the same kinds of watched records") {
  const Database database;
  pqxx::connection connection{database.url()};
  pqxx::work tx{connection};
  std::set<std::string> in_program;
  for (const WatchedKind kind : watched_kinds()) in_program.emplace(name_of(kind));
  std::set<std::string> in_database;
  for (const auto& row : tx.exec("SELECT unnest(enum_range(NULL::watched_kind))::text AS name"))
    in_database.insert(row["name"].as<std::string>());
  CHECK(in_database == in_program);
}

TEST_CASE("a job cannot take a move that the state machine does not have") {
  const Database database;
  const auto account = test::make_account(database.url(), 0);
  pg::Connection db{database.url()};
  const auto job = market::create_job(db, account.token_hash, job_priced(0), {}, RequestId::make());
  REQUIRE(job.ok());
  pqxx::connection connection{database.url()};
  const std::string update = "UPDATE job SET state = ";
  CHECK(refused_by(connection, update + "'running'") == "job_state_moves");
  CHECK(refused_by(connection, update + "'completed', ended_at = now()") == "job_state_moves");
  CHECK(refused_by(connection, update + "'cancelled'") == "job_that_ended_has_an_end");
  CHECK(refused_by(connection, update + "'cancelled', ended_at = now()") == "");
  CHECK(refused_by(connection, update + "'queued', ended_at = NULL") == "job_state_moves");
}

TEST_CASE("the ledger takes only transfers that sum to zero, once, whole and for ever") {
  const Database database;
  const auto account = test::make_account(database.url(), 1000);
  pqxx::connection connection{database.url()};
  const std::string purse = "(SELECT id FROM ledger_account WHERE kind = 'user')";
  const std::string mint = "(SELECT id FROM ledger_account WHERE kind = 'mint')";
  const auto transfer = [&](const std::string& key, long long to_user, long long to_mint) {
    return std::format(
        "INSERT INTO ledger_transfer (id, idempotency_key, reason) VALUES ('{0}', '{1}', 'grant'); "
        "INSERT INTO ledger_entry VALUES ('{0}', {2}, {3}), ('{0}', {4}, {5})",
        uuid_text(uuid_v7()), key, purse, to_user, mint, to_mint);
  };
  CHECK(refused_by(connection, transfer("a", 5, -5)) == "");
  CHECK(refused_by(connection, transfer("a", 5, -5)) == "ledger_transfer_happens_once");
  CHECK(refused_by(connection, transfer("b", 5, -4)) == "ledger_transfer_sums_to_zero");
  CHECK(refused_by(connection, transfer("c", -1006, 1006)) == "ledger_balance_is_not_negative");
  CHECK(refused_by(connection, transfer("d", -1005, 1005)) == "");
  CHECK(refused_by(connection, "UPDATE ledger_entry SET amount_micro = 1") == "ledger_is_append_only");
  CHECK(refused_by(connection, "DELETE FROM ledger_transfer") == "ledger_is_append_only");
  CHECK(refused_by(connection, "UPDATE ledger_account SET balance_micro = 7 WHERE kind = 'user'") ==
        "ledger_balance_is_derived");
  CHECK(refused_by(connection,
                   "INSERT INTO ledger_account (id, kind, job_id, balance_micro) "
                   "VALUES (gen_random_uuid(), 'escrow', gen_random_uuid(), 5)") ==
        "ledger_balance_is_derived");
  REQUIRE(refused_by(connection,
                     "INSERT INTO ledger_account (id, kind, job_id) SELECT gen_random_uuid(), 'escrow', "
                     "gen_random_uuid() FROM generate_series(1, 2)")
              .empty());
  CHECK(refused_by(
            connection,
            "INSERT INTO ledger_entry SELECT t.id, e.id, CASE row_number() OVER () WHEN 1 THEN 3 ELSE -3 END "
            "FROM ledger_transfer t, ledger_account e WHERE t.idempotency_key = 'a' AND e.kind = 'escrow'") ==
        "ledger_transfer_is_final");
  test::check_ledger(database.url());
}

TEST_CASE("no interleaving of submissions spends more than an account holds") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const Database database;
  const auto account = test::make_account(database.url(), 100);
  std::atomic<int> accepted = 0;
  std::atomic<int> refused = 0;
  std::atomic<std::int64_t> spent = 0;
  std::vector<std::thread> clients;
  for (unsigned client = 0; client < 6; ++client) {
    clients.emplace_back([&, client] {
      std::mt19937 random{seed + client};
      pg::Connection db{database.url()};
      for (int i = 0; i < 40; ++i) {
        const auto price = std::uniform_int_distribution<std::int64_t>{1, 5}(random);
        const auto job = market::create_job(db, account.token_hash, job_priced(price), {}, RequestId::make());
        if (job.ok()) {
          ++accepted;
          spent += price;
        } else if (job.refusal().code == Code::insufficient_credits) {
          ++refused;
        }
      }
    });
  }
  for (auto& client : clients) client.join();
  CHECK(accepted + refused == 240);
  CHECK(spent > 95);
  CHECK(spent <= 100);
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  CHECK(tx.query_value<std::int64_t>("SELECT balance_micro FROM ledger_account WHERE kind = 'user'") ==
        100 - spent);
  CHECK(tx.query_value<std::int64_t>("SELECT sum(balance_micro) FROM ledger_account WHERE kind = 'escrow'") ==
        spent);
  CHECK(tx.query_value<int>("SELECT count(*) FROM job") == accepted);
  CHECK(tx.query_value<int>("SELECT count(*) FROM outbox") == accepted);
  test::check_ledger(database.url());
}

TEST_CASE("a job has one live attempt and a machine is never over its capacity") {
  const Database database;
  const auto account = test::make_account(database.url(), 0);
  pg::Connection db{database.url()};
  const auto job = market::create_job(db, account.token_hash, job_priced(0), {}, RequestId::make());
  REQUIRE(job.ok());
  pqxx::connection connection{database.url()};
  REQUIRE(
      refused_by(
          connection,
          "WITH m AS (INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, "
          "price_micro_per_cpu_second) SELECT gen_random_uuid(), id, 'm', 4, 100, 100, 1 FROM account "
          "RETURNING id) INSERT INTO machine_session (id, machine_id, market_id, cpu_cores_free, "
          "ram_mb_free, disc_mb_free) SELECT gen_random_uuid(), id, gen_random_uuid(), 4, 100, 100 FROM m")
          .empty());
  const auto attempt = [](int number) {
    return std::format(
        "INSERT INTO attempt (job_id, number, machine_id, machine_session_id, token_hash) "
        "SELECT j.id, {}, s.machine_id, s.id, sha256('x') FROM job j, machine_session s",
        number);
  };
  CHECK(refused_by(connection, attempt(1)) == "");
  CHECK(refused_by(connection, attempt(2)) == "attempt_is_one_at_a_time");
  CHECK(refused_by(connection, "UPDATE attempt SET ended_at = now()") == "attempt_that_ended_has_an_outcome");
  CHECK(refused_by(connection, "UPDATE attempt SET ended_at = now(), outcome = 'lost'") == "");
  CHECK(refused_by(connection, attempt(2)) == "");
  CHECK(refused_by(connection, "UPDATE machine_session SET cpu_cores_free = cpu_cores_free - 5") ==
        "machine_session_is_never_over_capacity");
}
