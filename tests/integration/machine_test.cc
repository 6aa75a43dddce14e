// Machines: adding, showing, starting and removing them.
#include <atomic>
#include <doctest/doctest.h>
#include <pqxx/pqxx>
#include <thread>

#include "core/digest.h"
#include "core/limits.h"
#include "market/service/machines.h"
#include "market/service/remove_machine.h"
#include "market/store/audit.h"
#include "market/store/jobs.h"
#include "market/store/machine_sessions.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/volunteers.h"

using namespace remotist;
using nlohmann::json;
using test::Http;

namespace {

std::string stack_database() {
  return test::env("REMOTIST_DATABASE_URL");
}

json add(Http& http, const test::TestAccount& account, const std::string& name) {
  const auto answer =
      http.send("PUT", "/machine/",
                {{"name", name}, {"cpu", 4}, {"ram", 8192}, {"disc", 5000}, {"price", 3.6}}, account.token);
  REQUIRE(answer.status == 201);
  return answer.json();
}

// An account with room for so many machines more.
struct FullAccount {
  test::Database own{};
  test::TestAccount owner = test::make_account(own.url(), 0);

  explicit FullAccount(std::int64_t room) {
    pqxx::connection connection{own.url()};
    pqxx::nontransaction{connection}.exec(
        "INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, price_micro_per_cpu_second) "
        "SELECT gen_random_uuid(), $1, 'm' || n, 1, 1, 1, 0 FROM generate_series(1, $2::int) n",
        pqxx::params{owner.id, limits::kMachinesPerAccountMax - room});
  }
};

market::NewJob a_job() {
  market::NewJob job;
  job.name = "j";
  job.exec_file = "main.R";
  job.code = "1";
  job.submit = true;
  return job;
}

}  // namespace

TEST_CASE("a machine is added, viewed, listed and removed") {
  Http http{test::env("REMOTIST_URL")};
  const auto owner = test::make_account(stack_database(), 0);
  const json machine = add(http, owner, "lab 1");
  CHECK(machine["cpu"] == 4);
  CHECK(machine["price"] == 3.6);
  CHECK(machine["state"] == "offline");
  CHECK(machine["seen_at"].is_null());
  const std::string path = "/machine/" + machine["id"].get<std::string>();
  CHECK(http.get(path, owner.token).json() == machine);
  const json second = add(http, owner, "lab 2");
  CHECK(http.get("/machine/", owner.token).json()["machines"] == json::array({second, machine}));
  const auto page = http.get("/machine/?per_page=1&page=2", owner.token).json();
  CHECK(page["machines"] == json::array({machine}));
  CHECK(page["more"] == false);
  CHECK(http.call("DELETE", path, {}, {"Authorization: Bearer " + owner.token}).status == 204);
  CHECK(http.get(path, owner.token).code() == "not_found");
  CHECK(http.get("/machine/", owner.token).json()["machines"] == json::array({second}));
  add(http, owner, "lab 1");  // its name is free again
}

TEST_CASE("a machine that is not right is refused with the field at fault") {
  Http http{test::env("REMOTIST_URL")};
  const auto owner = test::make_account(stack_database(), 0);
  add(http, owner, "taken");
  const auto field = [&](const json& body) {
    const auto answer = http.send("PUT", "/machine/", body, owner.token);
    CHECK(answer.code() == "invalid_field");
    return answer.json()["field"].get<std::string>();
  };
  CHECK(field({{"name", "taken"}}) == "name");
  CHECK(field({{"name", ""}}) == "name");
  CHECK(field({{"cpu", 1}}) == "name");
  CHECK(field({{"name", "x"}, {"cpu", 0}}) == "cpu");
  CHECK(field({{"name", "x"}, {"ram", "8 GB"}}) == "ram");
  CHECK(field({{"name", "x"}, {"disc", 1.5}}) == "disc");
  CHECK(field({{"name", "x"}, {"price", -1}}) == "price");
  CHECK(field({{"name", "x"}, {"prise", 1}}) == "prise");
  CHECK(http.get("/machine/", owner.token).json()["machines"].size() == 1);
  // Another account may use the name.
  add(http, test::make_account(stack_database(), 0), "taken");
}

TEST_CASE("an account has so many machines, and not one more") {
  const FullAccount account{1};
  pg::Connection db{account.own.url()};
  CHECK(market::add_machine(db, account.owner.token_hash, {.name = "a"}).ok());
  const auto one_more = market::add_machine(db, account.owner.token_hash, {.name = "b"});
  REQUIRE_FALSE(one_more.ok());
  CHECK(one_more.refusal().code == Code::quota_exceeded);
}

TEST_CASE("a machine that was removed within a day counts against the account's limit") {
  const FullAccount account{2};
  pg::Connection db{account.own.url()};
  const auto add_and_remove = [&]() -> Result<void> {
    const auto machine = market::add_machine(db, account.owner.token_hash, {.name = "a"});
    if (!machine) return machine.refusal();
    return market::remove_machine(db, account.owner.token_hash, machine->id, {});
  };
  CHECK(add_and_remove().ok());
  CHECK(add_and_remove().ok());
  const auto third = add_and_remove();
  REQUIRE_FALSE(third.ok());
  CHECK(third.refusal().code == Code::quota_exceeded);
  test::execute(account.own.url(), "UPDATE machine SET removed_at = removed_at - interval '25 hours'");
  CHECK(add_and_remove().ok());
}

TEST_CASE("machines that are added at once do not exceed the limit together") {
  const FullAccount account{1};
  pqxx::connection elsewhere{account.own.url()};
  pqxx::work holder{elsewhere};
  holder.exec("SELECT FROM account_tally WHERE account_id = $1 FOR UPDATE", pqxx::params{account.owner.id});
  constexpr int kAtOnce = 4;
  std::atomic<int> added = 0;
  std::vector<std::jthread> owners;
  for (int i = 0; i < kAtOnce; ++i) {
    owners.emplace_back([&, i] {
      pg::Connection db{account.own.url()};
      if (market::add_machine(db, account.owner.token_hash, {.name = std::to_string(i)})) ++added;
    });
  }
  pqxx::connection watching{account.own.url()};
  pqxx::nontransaction tx{watching};
  CHECK(test::eventually([&] {
    return tx.query_value<int>(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") == kAtOnce;
  }));
  holder.abort();
  owners.clear();
  CHECK(added.load() == 1);
}

TEST_CASE("removed machines and ended sessions are deleted when nothing names them any more") {
  const test::Database own;
  const auto owner = test::make_account(own.url(), 1'000'000);
  const auto machine = test::make_machine(own.url(), owner);
  pg::Connection db{own.url()};
  const auto job = market::create_job(db, owner.token_hash, a_job(), {}, RequestId::make()).value().id;
  test::run_on(own.url(), job.text(), machine);
  test::lose(own.url(), job.text());
  REQUIRE(market::remove_machine(db, owner.token_hash, MachineId::parse(machine.id).value(), {}).ok());
  test::execute(own.url(), "UPDATE machine SET removed_at = removed_at - interval '2 days'");
  test::execute(own.url(), "UPDATE machine_session SET ended_at = ended_at - interval '2 days'");
  pqxx::connection connection{own.url()};
  pqxx::nontransaction tx{connection};
  const auto left_after_sweep = [&](const char* table) {
    market::delete_ended_machine_sessions(db);
    market::delete_removed_machines(db);
    return tx.query_value<int>(std::string{"SELECT count(*) FROM "} + table);
  };
  CHECK(left_after_sweep("machine_session") == 1);
  CHECK(left_after_sweep("machine") == 1);
  const auto settlement = "INSERT INTO settlement SELECT j.id, 1, '" + machine.id +
                          "', '', j.account_id, j.account_id, 0, 0, 1, now() FROM job j";
  test::execute(own.url(), settlement);
  test::execute(own.url(), "DELETE FROM job");
  CHECK(left_after_sweep("machine_session") == 0);
  CHECK(left_after_sweep("machine") == 1);
  test::execute(own.url(), "DELETE FROM settlement");
  CHECK(left_after_sweep("machine") == 0);
}

TEST_CASE("machines in use, and those just removed, are not deleted") {
  const test::Database own;
  const auto owner = test::make_account(own.url(), 0);
  const auto machine = test::make_machine(own.url(), owner);
  test::execute(own.url(),
                "INSERT INTO machine_session (id, machine_id, market_id, cpu_cores_free, ram_mb_free, "
                "disc_mb_free, ended_at) SELECT gen_random_uuid(), id, id, 0, 0, 0, t FROM machine, "
                "(VALUES (NULL), (now() - interval '50 minutes')) v (t)");
  test::execute(
      own.url(),
      "INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, "
      "price_micro_per_cpu_second, removed_at) SELECT gen_random_uuid(), account_id, 'young', 1, 1, "
      "1, 0, now() - interval '23 hours' FROM machine");
  pg::Connection db{own.url()};
  market::delete_ended_machine_sessions(db);
  market::delete_removed_machines(db);
  pqxx::connection connection{own.url()};
  pqxx::nontransaction tx{connection};
  CHECK(tx.query_value<int>("SELECT count(*) FROM machine_session") == 2);
  CHECK(tx.query_value<int>("SELECT count(*) FROM machine") == 2);
}

TEST_CASE("a started volunteer has a token for its machine alone, and starting again ends it") {
  Http http{test::env("REMOTIST_URL")};
  const auto owner = test::make_account(stack_database(), 0);
  const std::string path = "/machine/" + add(http, owner, "lab")["id"].get<std::string>();
  const std::string other = "/machine/" + add(http, owner, "other")["id"].get<std::string>();
  const auto start = [&](const std::string& body = {}) {
    return http.call("POST", path + "/startVolunteer", body, {"Authorization: Bearer " + owner.token});
  };
  const auto first = start();
  REQUIRE(first.status == 200);
  CHECK(first.json()["statement"].is_null());
  const std::string token = first.json()["token"];
  CHECK(token.starts_with("remotist_machine_"));
  CHECK(http.get(path, token).status == 200);
  CHECK(http.get(other, token).code() == "not_found");
  CHECK(http.get("/machine/", token).code() == "unauthenticated");
  CHECK(http.get("/user/", token).code() == "unauthenticated");
  CHECK(http.send("POST", path + "/startVolunteer", json::object(), token).code() == "unauthenticated");

  const auto second = start();
  REQUIRE(second.status == 200);
  CHECK(http.get(path, token).code() == "unauthenticated");
  CHECK(http.get(path, second.json()["token"]).status == 200);

  const std::string key = SigningKey{random_bytes(32)}.public_key();
  const auto third = start(json{{"public_key", base64url_of(key)}}.dump());
  const std::string statement = third.json()["statement"];
  const auto market_key =
      bytes_of_base64url(http.get("/volunteer/key").json()["public_key"].get<std::string>(), 32).value();
  const auto dot = statement.find('.');
  CHECK(signature_is_right(market_key, std::string{market::kStatementContext} + statement.substr(0, dot),
                           bytes_of_base64url(statement.substr(dot + 1), 64).value()));
  for (const char* bad : {R"({"public_key": "short"})", R"({"public_key": 1})", R"({"key": "x"})", "[]"}) {
    CAPTURE(bad);
    CHECK(start(bad).status >= 400);
  }
  CHECK(http.get(path, third.json()["token"]).status == 200);  // refusals have changed nothing

  CHECK(http.call("DELETE", path, {}, {"Authorization: Bearer " + owner.token}).status == 204);
  CHECK(http.get(path, third.json()["token"]).code() == "unauthenticated");
  CHECK(start().code() == "not_found");
}

TEST_CASE("a machine shows what it does, and one that has a job is not removed") {
  Http http{test::env("REMOTIST_URL")};
  const auto owner = test::make_account(stack_database(), 1'000'000);
  const auto machine = test::make_machine(stack_database(), owner);
  const std::string job =
      http.send("PUT", "/job/", {{"name", "j"}, {"exec_file", "m.R"}, {"code", "1"}, {"submit", true}},
                owner.token)
          .json()["id"];
  test::run_on(stack_database(), job, machine);
  const std::string path = "/machine/" + machine.id;
  CHECK(http.get(path, owner.token).json()["state"] == "busy");
  CHECK(http.call("DELETE", path, {}, {"Authorization: Bearer " + owner.token}).code() == "wrong_state");
  test::lose(stack_database(), job);
  CHECK(http.get(path, owner.token).json()["state"] == "idle");
  CHECK(http.call("DELETE", path, {}, {"Authorization: Bearer " + owner.token}).status == 204);
}

TEST_CASE("a disabled account's machines are refused at once") {
  Http http{test::env("REMOTIST_URL")};
  const auto owner = test::make_account(stack_database(), 0);
  const auto machine = test::make_machine(stack_database(), owner);
  CHECK(http.get("/machine/" + machine.id, machine.token).status == 200);
  pqxx::connection connection{stack_database()};
  pqxx::nontransaction{connection}.exec("UPDATE account SET disabled_at = now() WHERE id = $1",
                                        pqxx::params{owner.id});
  CHECK(http.get("/machine/" + machine.id, machine.token).code() == "unauthenticated");
}

TEST_CASE("of volunteers that are started at once, one has a token that counts") {
  const test::Database own;
  const auto owner = test::make_account(own.url(), 0);
  const auto machine = test::make_machine(own.url(), owner);
  const SigningKey key{random_bytes(32)};
  for (int round = 0; round < 20; ++round) {
    std::vector<std::jthread> starters;
    for (int i = 0; i < 4; ++i) {
      starters.emplace_back([&] {
        pg::Connection db{own.url()};
        CHECK(market::start_volunteer(db, key, owner.token_hash, MachineId::parse(machine.id).value(),
                                      std::chrono::hours{1}, std::nullopt)
                  .ok());
      });
    }
    starters.clear();
    pqxx::connection connection{own.url()};
    CHECK(pqxx::nontransaction{connection}.query_value<int>(
              "SELECT count(*) FROM login_token WHERE machine_id IS NOT NULL") == 1);
  }
}
