// A job from creation to its end, as far as no machine is needed; and the credits that it holds.
#include <atomic>
#include <doctest/doctest.h>
#include <pqxx/pqxx>
#include <random>
#include <thread>

#include "core/limits.h"
#include "market/service/cancel_job.h"
#include "market/store/audit.h"
#include "market/store/jobs.h"
#include "market/store/ledger.h"
#include "sql_queries.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/registered.h"

using namespace remotist;
using nlohmann::json;
using test::Database;
using test::Http;
using test::registered_token;

namespace {

json job_named(const std::string& name) {
  return {{"name", name}, {"exec_file", "main.R"}, {"price", 10}};
}

market::NewJob new_job(std::int64_t micro, bool submit) {
  market::NewJob job;
  job.name = "j";
  job.exec_file = "main.R";
  job.code = "1";
  job.price = Credits::micro(micro);
  job.submit = submit;
  return job;
}

// The name of the first invariant that does not hold, or "".
std::string first_broken(pg::Connection& db) {
  for (const auto& invariant : market::audit_ledger(db)) {
    if (invariant.broken_by) return invariant.name;
  }
  return "";
}

}  // namespace

TEST_CASE("a job is created, gets its code, is submitted, cancelled and deleted, and its credits come back") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const std::string path =
      "/job/" + http.send("PUT", "/job/", job_named("a"), token).json()["id"].get<std::string>();
  const auto balance = [&] { return http.get("/user/", token).json()["balance"].get<double>(); };

  CHECK(http.send("POST", path + "/submit", json::object(), token).code() == "wrong_state");
  CHECK(http.send("POST", path + "/code", {{"path", "other.R"}, {"text", "1"}}, token).status == 204);
  CHECK(http.send("POST", path + "/submit", json::object(), token).code() == "wrong_state");
  CHECK(http.send("POST", path + "/code", {{"path", "../x"}, {"text", "1"}}, token).json()["field"] ==
        "path");
  CHECK(http.send("POST", path + "/code", {{"path", "main.R"}, {"text", "x <- 1"}}, token).status == 204);
  CHECK(balance() == 100);

  const auto submitted = http.send("POST", path + "/submit", json::object(), token);
  CHECK(submitted.status == 200);
  CHECK(submitted.json()["state"] == "queued");
  CHECK(balance() == 90);
  CHECK(http.send("POST", path + "/submit", json::object(), token).code() == "wrong_state");
  CHECK(http.send("POST", path + "/code", {{"path", "main.R"}, {"text", "x <- 2"}}, token).code() ==
        "wrong_state");
  CHECK(http.call("DELETE", path, {}, {"Authorization: Bearer " + token}).code() == "wrong_state");

  CHECK(http.send("POST", path + "/cancel", json::object(), token).json()["state"] == "cancelled");
  CHECK(http.send("POST", path + "/cancel", json::object(), token).status == 200);
  CHECK(balance() == 100);
  CHECK(http.send("POST", path + "/submit", json::object(), token).code() == "wrong_state");

  const auto lines = http.get("/user/statement", token).json()["lines"];
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["reason"] == "release");
  CHECK(lines[0]["amount"] == 10);
  CHECK(lines[1]["reason"] == "hold");
  CHECK(lines[1]["amount"] == -10);
  CHECK(lines[2]["reason"] == "grant");

  CHECK(http.call("DELETE", path, {}, {"Authorization: Bearer " + token}).status == 204);
  CHECK(http.get(path, token).code() == "not_found");
  CHECK(http.get("/user/statement", token).json()["lines"].size() == 3);
}

TEST_CASE(
    "a job with an invalid watched name is refused with the position of the mistake, and costs nothing") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  json job = job_named("a");
  job["code"] = "x <- 1";
  job["submit"] = true;
  job["partial_results_vars"] = {"x", "loss evry 5"};
  const auto refused = http.send("PUT", "/job/", job, token);
  CHECK(refused.status == 422);
  CHECK(refused.code() == "invalid_field");
  CHECK(refused.json()["field"] == "partial_results_vars[1]");
  CHECK(refused.json()["detail"].get<std::string>().contains("at character 6"));
  CHECK(http.get("/user/", token).json()["balance"] == 100);
  CHECK(http.get("/job/", token).json()["jobs"].empty());
}

TEST_CASE("nobody touches another's job") {
  Http http{test::env("REMOTIST_URL")};
  const std::string owner = registered_token(http);
  const std::string other = registered_token(http);
  const std::string path =
      "/job/" + http.send("PUT", "/job/", job_named("a"), owner).json()["id"].get<std::string>();
  CHECK(http.send("POST", path + "/code", {{"path", "main.R"}, {"text", "1"}}, other).code() == "not_found");
  CHECK(http.send("POST", path + "/submit", json::object(), other).code() == "not_found");
  CHECK(http.send("POST", path + "/cancel", json::object(), other).code() == "not_found");
  CHECK(http.call("DELETE", path, {}, {"Authorization: Bearer " + other}).code() == "not_found");
  CHECK(http.get(path, owner).json()["state"] == "uploading");
  CHECK(http.get("/job/", other).json()["jobs"].empty());
}

TEST_CASE("jobs are listed newest first, by page and by state") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  for (int i = 0; i < 5; ++i)
    REQUIRE(http.send("PUT", "/job/", job_named(std::to_string(i)), token).status == 201);
  const auto names = [&](const std::string& query) {
    std::string all;
    const auto page = http.get("/job/?" + query, token).json();
    for (const auto& job : page["jobs"]) all += job["name"].get<std::string>();
    return all + (page["more"].get<bool>() ? "+" : "");
  };
  CHECK(names("") == "43210");
  CHECK(names("per_page=2") == "43+");
  CHECK(names("per_page=2&page=2") == "21+");
  CHECK(names("per_page=2&page=3") == "0");
  CHECK(names("per_page=2&page=4") == "");
  CHECK(names("per_page=5") == "43210");
  CHECK(names("state=queued") == "");
  CHECK(names("state=uploading&per_page=1") == "4+");
  for (const char* bad :
       {"page=0", "page=x", "page=10001", "per_page=0", "per_page=201", "per_page=1e2", "state=lost"}) {
    CAPTURE(bad);
    CHECK(http.get(std::string{"/job/?"} + bad, token).code() == "invalid_field");
  }
  CHECK(http.get("/job/?per_page=" + std::to_string(limits::kPageRowsMax), token).status == 200);
  CHECK(http.get("/job/?page=" + std::to_string(limits::kPageNumberMax), token).status == 200);
}

TEST_CASE(
    "submitting and cancelling at once, many times over: each job is one or the other, and the ledger "
    "holds") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const Database database;
  const auto account = test::make_account(database.url(), 1000);
  std::mt19937 random{seed};
  for (int round = 0; round < 60; ++round) {
    pg::Connection db{database.url()};
    const auto job = market::create_job(db, account.token_hash, new_job(400, false), {}, RequestId::make());
    REQUIRE(job.ok());
    std::vector<std::jthread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&, cancels = random() % 2 == 0] {
        pg::Connection own{database.url()};
        if (cancels) {
          (void)market::cancel_job(own, account.token_hash, job->id, {});
        } else {
          (void)market::submit_job(own, account.token_hash, job->id, RequestId::make());
        }
      });
    }
    clients.clear();
    CHECK(market::cancel_job(db, account.token_hash, job->id, {}).ok());
    REQUIRE(first_broken(db) == "");
  }
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  CHECK(tx.query_value<std::int64_t>("SELECT balance_micro FROM ledger_account WHERE kind = 'user'") == 1000);
  CHECK(tx.query_value<int>("SELECT count(*) FROM job WHERE state = 'cancelled'") == 60);
}

TEST_CASE("the audit names the invariant that was broken") {
  const Database database;
  const auto account = test::make_account(database.url(), 1000);
  pg::Connection db{database.url()};
  REQUIRE(market::create_job(db, account.token_hash, new_job(10, true), {}, RequestId::make()).ok());
  CHECK(first_broken(db) == "");
  pqxx::connection superuser{test::database_url(database.name(), true)};
  // As somebody with a superuser's hands would; undone after each look.
  const auto broken_by = [&](const std::string& statement) {
    pqxx::work tx{superuser};
    tx.exec("SET LOCAL session_replication_role = replica");
    tx.exec("ALTER TABLE ledger_account DROP CONSTRAINT IF EXISTS ledger_balance_is_not_negative");
    tx.exec(statement);
    for (const auto& row : tx.exec(sql::ledger_audit.text.data())) {
      if (!row["broken_by"].is_null()) return row["invariant"].as<std::string>();
    }
    return std::string{};
  };
  CHECK(broken_by("SELECT 1") == "");
  CHECK(broken_by("UPDATE ledger_entry SET amount_micro = amount_micro + 1 WHERE amount_micro > 0") ==
        "every transfer has two or more entries that sum to zero");
  CHECK(broken_by("INSERT INTO ledger_entry VALUES (gen_random_uuid(), (SELECT id FROM ledger_account LIMIT "
                  "1), 5)") == "all entries sum to zero");
  CHECK(broken_by("UPDATE ledger_account SET balance_micro = balance_micro + 1 WHERE kind = 'user'") ==
        "every balance is the sum of its entries");
  CHECK(broken_by("DELETE FROM ledger_account WHERE kind = 'user'") == "every account has one purse");
  CHECK(broken_by("UPDATE job SET price_micro = 11") ==
        "a job that was submitted and has not ended holds its price, less what its attempts were paid");
  CHECK(broken_by("UPDATE job SET state = 'cancelled', ended_at = now()") ==
        "a job that has ended or was never submitted holds nothing, unless it is yet to be settled");
}
