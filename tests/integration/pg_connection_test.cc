// How a pg connection and a pool behave when the database conflicts, refuses, or is lost.
#include <atomic>
#include <doctest/doctest.h>
#include <latch>
#include <pqxx/pqxx>
#include <signal.h>
#include <thread>

#include "core/pg/connection.h"
#include "core/pg/pool.h"
#include "core/pg/statement.h"
#include "market/store/accounts.h"
#include "market/store/jobs.h"
#include "sql_queries.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"

using namespace remotist;
using test::Database;
using test::eventually;
using test::execute;

namespace {

constexpr const char* kClaim = "0194f1c2-7a5b-7c3d-8e9f-0123456789ab";

// Ends every other connection to the database, as an administrator or a crash would.
int terminate_backends(const Database& database, const std::string& where = "true") {
  pqxx::connection server{test::database_url("postgres", true)};
  pqxx::nontransaction tx{server};
  return static_cast<int>(tx.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" +
                                  database.name() + "' AND " + where)
                              .size());
}

market::NewJob job_with_code() {
  market::NewJob job;
  job.name = "j";
  job.exec_file = "main.R";
  job.code = "1";
  job.submit = true;
  return job;
}

}  // namespace

TEST_CASE("a pg connection that the server ended while it was idle reconnects without an error") {
  const Database database;
  const auto account = test::make_account(database.url(), 0);
  pg::Connection db{database.url()};
  for (int i = 0; i < 3; ++i) {
    // A write, which may not be tried twice: the loss must be seen before it is sent.
    CHECK(market::create_job(db, account.token_hash, job_with_code(), {}, RequestId::make()).ok());
    REQUIRE(terminate_backends(database) == 1);
    REQUIRE(eventually([&] { return terminate_backends(database) == 0; }));
  }
  CHECK(market::credentials_of(db, "nobody@example.org") == std::nullopt);
}

TEST_CASE("a transaction that lost its connection before the commit is run again, once") {
  const Database database;
  pg::Connection db{database.url()};
  int runs = 0;
  db.transact([&] {
    pg::write(db, sql::outbox_delete, pqxx::params{std::vector<std::int64_t>{1}, kClaim});
    if (++runs == 1) terminate_backends(database);
    pg::read(db, sql::health_probe);
  });
  CHECK(runs == 2);
}

TEST_CASE("a commit in doubt is reported as such and never run again") {
  const Database database;
  execute(database.url(), R"(
    CREATE FUNCTION slow_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION slow_commit())");
  const auto account = test::make_account(database.url(), 0);
  std::jthread killer{
      [&] { eventually([&] { return terminate_backends(database, "wait_event = 'PgSleep'") > 0; }); }};
  pg::Connection db{database.url()};
  int runs = 0;
  const auto submit = [&] {
    ++runs;
    return market::create_job(db, account.token_hash, job_with_code(), {}, RequestId::make());
  };
  CHECK_THROWS_AS((void)db.transact(submit), pg::CommitInDoubt);
  CHECK(runs == 1);
  killer.join();

  // A single statement is its own commit.
  std::jthread again{
      [&] { eventually([&] { return terminate_backends(database, "wait_event = 'PgSleep'") > 0; }); }};
  CHECK_THROWS_AS((void)market::create_job(db, account.token_hash, job_with_code(), {}, RequestId::make()),
                  pg::CommitInDoubt);
  CHECK(market::credentials_of(db, "nobody@example.org") == std::nullopt);
}

TEST_CASE("a deadlock is resolved by running the victim again") {
  const Database database;
  // Locks rows of one table in opposite orders, at the same time.
  execute(database.url(),
          "INSERT INTO outbox (message_id, routing_key, body, claimed_by) SELECT gen_random_uuid(), 'x', "
          "'{}', '" +
              std::string{kClaim} + "' FROM generate_series(1, 2)");
  std::atomic<int> runs = 0;
  std::latch both_hold_one{2};
  const auto lock_both = [&](std::int64_t first, std::int64_t second) {
    pg::Connection db{database.url()};
    bool waited = false;
    db.transact([&] {
      ++runs;
      pg::write(db, sql::outbox_postpone, pqxx::params{std::vector<std::int64_t>{first}, kClaim});
      if (!std::exchange(waited, true)) both_hold_one.arrive_and_wait();
      pg::write(db, sql::outbox_postpone, pqxx::params{std::vector<std::int64_t>{second}, kClaim});
    });
  };
  std::jthread other{[&] { lock_both(2, 1); }};
  lock_both(1, 2);
  other.join();
  CHECK(runs >= 3);  // the server may find more than one victim
}

TEST_CASE("a lone statement that is a deadlock's victim runs again") {
  const Database database;
  execute(database.url(),
          "INSERT INTO outbox (message_id, routing_key, body, claimed_by) SELECT gen_random_uuid(), 'x', "
          "'{}', '" +
              std::string{kClaim} + "' FROM generate_series(1, 2)");
  // Whoever waits first is the victim, unless this machine is so slow that the other waits too late.
  bool other_was_victim = true;
  for (int round = 0; round < 10 && other_was_victim; ++round) {
    pqxx::connection connection{database.url()};
    pqxx::work other{connection};
    other.exec("UPDATE outbox SET tries = 0 WHERE id = 2");
    std::jthread lone{[&] {
      pg::Connection db{database.url()};
      pg::write(db, sql::outbox_postpone, pqxx::params{std::vector<std::int64_t>{1, 2}, kClaim});
    }};
    pqxx::connection onlooker{database.url()};
    REQUIRE(eventually([&] {
      return pqxx::nontransaction{onlooker}.query_value<int>(
                 "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = "
                 "'transactionid'") == 1;
    }));
    try {
      other.exec("UPDATE outbox SET tries = 0 WHERE id = 1");
      other.commit();
      other_was_victim = false;
    } catch (const pqxx::deadlock_detected&) {
      other.abort();
    }
  }
  CHECK_FALSE(other_was_victim);
  pqxx::connection connection{database.url()};
  CHECK(pqxx::nontransaction{connection}.query_value<int>("SELECT count(*) FROM outbox WHERE tries = 1") ==
        2);
}

TEST_CASE("a refusal rolls the transaction back and leaves the connection usable") {
  const Database database;
  pg::Connection db{database.url()};
  const auto refused = db.transact([&]() -> Result<int> {
    REQUIRE(market::create_account(db, {.email = "a@example.org", .password_hash = "x"}) ==
            market::Registration::created);
    return refuse(Code::forbidden, "no");
  });
  CHECK_FALSE(refused.ok());
  CHECK_FALSE(market::credentials_of(db, "a@example.org"));
  CHECK_THROWS_AS(db.transact([&] { throw std::runtime_error{"x"}; }), std::runtime_error);
  CHECK(market::create_account(db, {.email = "a@example.org", .password_hash = "x"}) ==
        market::Registration::created);
  CHECK(market::credentials_of(db, "A@Example.org"));
}

TEST_CASE("a database that is not there is Unavailable, and so is one that takes too long") {
  pg::Connection nowhere{"postgresql://remotist@/x?host=/nonexistent"};
  CHECK_THROWS_AS(market::credentials_of(nowhere, "a@b"), pg::Unavailable);

  const Database database;
  pqxx::connection holder{database.url()};
  pqxx::work lock{holder};
  lock.exec("LOCK TABLE account IN ACCESS EXCLUSIVE MODE");
  pg::Connection impatient{database.url(), {.statement_timeout = std::chrono::milliseconds{100}}};
  CHECK_THROWS_AS(market::credentials_of(impatient, "a@b"), pg::Unavailable);
}

TEST_CASE("a database that stands still is given up, though nothing ends the connection") {
  const Database database;
  pg::Connection db{database.url(), {.statement_timeout = std::chrono::milliseconds{500}}};
  const auto write = [&, account = AccountId::make()] {
    return market::create_login_token(db, std::string(32, 'x'), account, std::chrono::hours{1});
  };
  REQUIRE_FALSE(write());
  pqxx::connection server{test::database_url("postgres", true)};
  pqxx::nontransaction tx{server};
  const auto backend =
      tx.query_value<pid_t>("SELECT pid FROM pg_stat_activity WHERE datname = '" + database.name() + "'");
  REQUIRE(kill(backend, SIGSTOP) == 0);
  CHECK_THROWS_AS((void)write(), pg::CommitInDoubt);
  CHECK(kill(backend, SIGCONT) == 0);
  CHECK_FALSE(market::credentials_of(db, "a@b"));
}

TEST_CASE("a pool that is stopped cuts off what runs and drops what waits") {
  const Database database;
  pqxx::connection holder{database.url()};
  pqxx::work lock{holder};
  lock.exec("LOCK TABLE account IN ACCESS EXCLUSIVE MODE");
  pg::Pool pool{database.url(), 1, 10};
  std::latch begun{1};
  std::atomic<int> cut = 0;
  std::atomic<int> ran = 0;
  REQUIRE(pool.try_run([&](pg::Connection& db) {
    begun.count_down();
    try {
      (void)market::credentials_of(db, "a@b");
    } catch (const pg::Unavailable&) {
      ++cut;
    }
  }));
  begun.wait();
  for (int i = 0; i < 3; ++i) REQUIRE(pool.try_run([&](pg::Connection&) { ++ran; }));
  pool.stop_now(std::chrono::milliseconds{50});
  CHECK(cut == 1);
  CHECK(ran == 0);
}

TEST_CASE("a server that takes no writes is Unavailable, and left for one that does") {
  const Database database;
  const auto account = test::make_account(database.url(), 0);
  execute(database.url(), "ALTER DATABASE " + database.name() + " SET default_transaction_read_only = on");
  pg::Connection db{database.url()};
  const auto submit = [&] {
    return market::create_job(db, account.token_hash, job_with_code(), {}, RequestId::make());
  };
  CHECK_THROWS_AS((void)submit(), pg::Unavailable);
  execute(test::database_url("postgres", true),
          "ALTER DATABASE " + database.name() + " SET default_transaction_read_only = off");
  CHECK(submit().ok());
}

TEST_CASE("a transaction in which a statement failed cannot be committed by overlooking it") {
  const Database database;
  pg::Connection db{database.url()};
  CHECK_THROWS_AS(db.transact([&] {
    (void)market::create_account(db, {.email = "a@example.org", .password_hash = "x"});
    try {
      // Longer than the column takes.
      (void)market::create_account(db, {.email = std::string(300, 'a'), .password_hash = "x"});
    } catch (const pg::ConstraintViolated&) {
    }
  }),
                  pg::QueryFailed);
  CHECK_FALSE(market::credentials_of(db, "a@example.org"));
}

TEST_CASE("a pool refuses what its queue does not hold") {
  const Database database;
  pg::Pool pool{database.url(), 1, 2};
  std::latch begun{1};
  std::latch release{1};
  REQUIRE(pool.try_run([&](pg::Connection&) {
    begun.count_down();
    release.wait();
  }));
  begun.wait();
  CHECK(pool.try_run([](pg::Connection&) {}));
  CHECK(pool.try_run([](pg::Connection&) {}));
  CHECK_FALSE(pool.try_run([](pg::Connection&) {}));
  release.count_down();
}

TEST_CASE(
    "PostgreSQL killed and restarted under load: the pool recovers and every acknowledged commit is there") {
  const Database database;
  const auto account = test::make_account(database.url(), 0);
  std::atomic<bool> stop = false;
  std::atomic<int> faults = 0;
  std::vector<std::vector<std::string>> acknowledged(4);
  std::vector<std::jthread> clients;
  std::atomic<int> total = 0;
  for (std::size_t client = 0; client < acknowledged.size(); ++client) {
    clients.emplace_back([&, client] {
      pg::Connection db{database.url()};
      while (!stop) {
        try {
          const auto job = market::create_job(db, account.token_hash, job_with_code(), {}, RequestId::make());
          if (job.ok()) acknowledged[client].push_back(job->id.text());
          ++total;
        } catch (const pg::Fault&) {
          ++faults;
          std::this_thread::yield();
        }
      }
    });
  }
  for (int round = 0; round < 2; ++round) {
    const int before = total;
    REQUIRE(eventually([&] { return total > before + 100; }));
    test::kill_part("postgres");
    test::bring_up();
  }
  const int before = total;
  CHECK(eventually([&] { return total > before + 100; }));
  stop = true;
  clients.clear();
  CHECK(faults > 0);

  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  std::size_t lost = 0;
  std::size_t known = 0;
  for (const auto& ids : acknowledged) {
    for (const auto& id : ids) {
      ++known;
      if (tx.query_value<int>("SELECT count(*) FROM job WHERE id = $1", pqxx::params{id}) != 1) ++lost;
    }
  }
  CHECK(known > 300);
  CHECK(lost == 0);
  CHECK(tx.query_value<std::size_t>("SELECT count(*) FROM job") >= known);
  test::check_ledger(database.url());
}
