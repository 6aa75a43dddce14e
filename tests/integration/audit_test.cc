// The audit log: what is recorded, what strangers cannot write without end, and who may read it.
#include <doctest/doctest.h>
#include <functional>
#include <pqxx/pqxx>

#include "core/digest.h"
#include "core/limits.h"
#include "market/service/accounts.h"
#include "market/store/admin.h"
#include "market/store/machine_sessions.h"
#include "market/store/machines.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"

using namespace remotist;
using namespace remotist::market;
using nlohmann::json;
using test::Database;
using test::Http;

namespace {

std::string stack_database() {
  return test::env("REMOTIST_DATABASE_URL");
}

test::TestAccount make_admin_account() {
  const auto account = test::make_account(stack_database(), 0);
  pg::Connection db{stack_database()};
  make_admin(db, AccountId::parse(account.id).value());
  return account;
}

json events(Http& http, const test::TestAccount& admin, const std::string& filter) {
  const auto answer = http.get("/admin/events?" + filter, admin.token);
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  return answer.json()["events"];
}

std::vector<std::string> actions_of(const json& events) {
  std::vector<std::string> actions;
  for (const auto& event : events) actions.push_back(event["action"]);
  return actions;
}

const RequestOrigin kStranger{.address = "192.0.2.1", .request = RequestId::make()};

}  // namespace

TEST_CASE("an account's way is in the audit log: registered, logged in, failed, changed its password") {
  Http http{test::env("REMOTIST_URL")};
  const auto admin = make_admin_account();
  const std::string email = hex_of(random_bytes(8)) + "@example.org";
  const auto registered =
      http.send("POST", "/user/register", {{"email", email}, {"password", "long enough"}});
  REQUIRE(registered.status == 201);
  const std::string id = registered.json()["id"];
  const auto login = http.send("POST", "/user/login", {{"email", email}, {"password", "long enough"}});
  REQUIRE(login.status == 200);
  const std::string token = login.json()["token"];
  for (int i = 0; i < 3; ++i)
    CHECK(http.send("POST", "/user/login", {{"email", email}, {"password", "not the one"}}).status == 401);
  REQUIRE(
      http.send("POST", "/user/password", {{"old", "long enough"}, {"new", "another one"}}, token).status ==
      200);

  const json own = events(http, admin, "account=" + id);
  CHECK(actions_of(own) == std::vector<std::string>{"password_changed", "login", "register"});
  for (const auto& event : own) {
    CHECK(event["account"] == id);
    CHECK(event["address"] == "127.0.0.1");
    CHECK(event["at"].get<std::string>().ends_with("Z"));
  }
  CHECK(own[2]["subject"] == email);
  CHECK(own[2]["request_id"] == registered.headers.at("x-request-id"));
  CHECK_FALSE(http.get("/admin/events?account=" + id, admin.token).body.contains(token));
  std::int64_t failures = 0;
  for (const auto& event : events(http, admin, "action=login_failed&subject=" + email)) {
    CHECK(event["account"].is_null());
    failures += event["count"].get<std::int64_t>();
  }
  CHECK(failures == 3);
}

TEST_CASE("whatever an admin does is in the audit log, once, with who it was") {
  Http http{test::env("REMOTIST_URL")};
  const auto admin = make_admin_account();
  const auto user = test::make_account(stack_database(), 10'000'000);
  const auto post = [&](const std::string& path, const json& body = json::object(),
                        const std::vector<std::string>& headers = {}) {
    CHECK(http.send("POST", path, body, admin.token, headers).status < 300);
  };
  const std::string machine = http.send("PUT", "/machine/", {{"name", "m"}}, user.token).json()["id"];
  const std::string job =
      http.send("PUT", "/job/", {{"name", "j"}, {"exec_file", "a.R"}}, user.token).json()["id"];
  const std::string own =
      http.send("PUT", "/job/", {{"name", "j"}, {"exec_file", "a.R"}}, admin.token).json()["id"];
  const std::vector<std::string> key{"Idempotency-Key: " + hex_of(random_bytes(8))};
  post("/admin/users/" + user.id + "/grant", {{"credits", 2.5}}, key);
  post("/admin/users/" + user.id + "/grant", {{"credits", 2.5}}, key);  // done before
  post("/admin/users/" + user.id + "/quota", {{"megabytes", 7}});
  post("/admin/machines/" + machine + "/ban", {{"reason", "bad \"quotes\""}});
  post("/admin/machines/" + machine + "/unban");
  CHECK(http.call("DELETE", "/machine/" + machine, {}, {"Authorization: Bearer " + admin.token}).status ==
        204);
  post("/job/" + job + "/cancel");
  post("/job/" + own + "/cancel");  // its own is nobody's business
  post("/admin/invitations");
  post("/admin/users/" + user.id + "/disable");
  post("/admin/users/" + user.id + "/enable");
  // What was refused is not there.
  CHECK(http.send("POST", "/admin/users/" + user.id + "/quota", {{"megabytes", -1}}, admin.token).status ==
        422);
  CHECK(http.send("POST", "/admin/users/" + machine + "/disable", json::object(), admin.token).status == 404);

  const json all = events(http, admin, "account=" + admin.id);
  CHECK(actions_of(all) == std::vector<std::string>{"user_enabled", "user_disabled", "invited",
                                                    "job_cancelled", "machine_removed", "machine_unbanned",
                                                    "machine_banned", "quota_set", "credits_granted"});
  CHECK(all[3]["subject"] == job);
  CHECK(all[6]["detail"] == json{{"reason", "bad \"quotes\""}});
  CHECK(all[7]["detail"] == json{{"megabytes", 7}});
  CHECK(all[8]["detail"] == json{{"credits", 2.5}});
  CHECK(all[8]["subject"] == user.id);
  CHECK(actions_of(events(http, admin, "account=" + user.id)).size() == 4);  // done to it
}

TEST_CASE("the audit log is asked by action, address, network and time, and by page") {
  Http http{test::env("REMOTIST_URL")};
  const auto admin = make_admin_account();
  pg::Connection db{stack_database()};
  const std::string subject = hex_of(random_bytes(8));
  for (int i = 0; i < 5; ++i) {
    record_event(db, {.address = "2001:db8:0:1::" + std::to_string(i), .request = {}},
                 {.action = "test_" + std::to_string(i), .subject = subject, .detail = {{"i", i}}});
  }
  const std::string ours = "subject=" + subject;
  CHECK(events(http, admin, ours).size() == 5);
  CHECK(actions_of(events(http, admin, ours + "&action=test_3")) == std::vector<std::string>{"test_3"});
  CHECK(actions_of(events(http, admin, ours + "&address=2001:db8:0:1::2")) ==
        std::vector<std::string>{"test_2"});
  CHECK(events(http, admin, ours + "&address=2001:db8:0:1::/64").size() == 5);
  CHECK(events(http, admin, ours + "&address=2001:db8:0:2::/64").empty());
  CHECK(events(http, admin, ours + "&since=2000-01-01T00:00:00Z&until=9000-01-01T00:00:00Z").size() == 5);
  CHECK(events(http, admin, ours + "&until=2000-01-01T00:00:00Z").empty());
  const auto page = http.get("/admin/events?per_page=2&page=2&" + ours, admin.token).json();
  CHECK(actions_of(page["events"]) == std::vector<std::string>{"test_2", "test_1"});
  CHECK(page["more"] == true);
  for (const char* wrong : {"account=x", "address=x", "address=1.2.3.4/99", "since=yesterday", "until=1",
                            "page=0", "action=%ff", "action=a%00b", "subject=%c3", "subject=%00"}) {
    CHECK_MESSAGE(http.get("/admin/events?" + std::string{wrong}, admin.token).code() == "invalid_field",
                  wrong);
  }
}

TEST_CASE("failed and refused logins write a bounded number of rows, however many there are") {
  const Database database;
  pg::Connection db{database.url()};
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  const auto rows = [&](const std::string& action) {
    return tx.query_value<int>("SELECT count(*) FROM audit_event WHERE action = $1", pqxx::params{action});
  };
  for (int i = 0; i < 100; ++i) {
    const auto attempt = begin_login(db, "Ana@b", kStranger);
    if (attempt) CHECK_FALSE(finish_login(db, *attempt, false, kStranger, std::chrono::hours{1}).ok());
  }
  // A minute may end in between.
  CHECK(rows("login_failed") <= 2);
  CHECK(rows("login_refused") <= 2);
  CHECK(rows("login_refused") >= 1);
  CHECK(tx.query_value<int>("SELECT sum(count) FROM audit_event WHERE action = 'login_failed' AND subject = "
                            "'ana@b'") == limits::kLoginFailuresMax);
  const RegistrationRules rules{.per_address_hour_max = 0};
  for (int i = 0; i < 100; ++i) CHECK_FALSE(begin_registration(db, rules, "a@b", kStranger, {}).ok());
  CHECK(rows("register_refused") <= 2);
  CHECK(tx.query_value<int>("SELECT count(*) FROM audit_event") <= 6);
}

TEST_CASE("logins of an account from one address or /64 within an hour are one row with their number") {
  const Database database;
  pg::Connection db{database.url()};
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  const NewAccount account{.email = "ana@b", .password_hash = "no password"};
  REQUIRE(create_account(db, account) == Registration::created);
  const auto log_in = [&](const std::string& address) {
    const RequestOrigin origin{.address = address, .request = RequestId::make()};
    const auto attempt = begin_login(db, account.email, origin);
    REQUIRE(attempt.ok());
    REQUIRE(finish_login(db, *attempt, true, origin, std::chrono::hours{1}).ok());
  };
  const auto rows = [&] {
    return tx.query_value<int>("SELECT count(*) FROM audit_event WHERE action = 'login'");
  };
  for (int i = 0; i < 50; ++i) {
    log_in("192.0.2.1");
    log_in("2001:db8:0:1::" + std::to_string(i));
  }
  // An hour may end in between.
  CHECK(rows() <= 4);
  CHECK(tx.query_value<int>("SELECT sum(count) FROM audit_event WHERE action = 'login'") == 100);
  CHECK(tx.query_value<std::string>("SELECT host(address) FROM audit_event WHERE address << '::/0' ORDER BY "
                                    "id LIMIT 1") == "2001:db8:0:1::");
  // Another hour, another address and another account are other rows.
  tx.exec("UPDATE audit_event SET at = at - interval '3 hours'");
  const int before = rows();
  log_in("192.0.2.1");
  log_in("2001:db8:0:2::1");
  CHECK(rows() == before + 2);
}

namespace {

// What is old in a table that is swept, the first of it held by somebody else; and how it is swept.
struct Old {
  std::string table;
  std::string insert;  // $1 numbers from 0
  std::string held;    // the row of number 0
  std::function<void(pg::Connection&)> sweep;
};

void check_sweep(const Old& old) {
  CAPTURE(old.table);
  const Database database;
  pg::Connection db{database.url()};
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  const auto account = test::make_account(database.url(), 0);
  const int before = tx.query_value<int>("SELECT count(*) FROM " + old.table);
  tx.exec("CREATE TABLE deletion (rows bigint)");
  tx.exec(
      "CREATE FUNCTION note_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "INSERT INTO deletion SELECT count(*) FROM gone; RETURN NULL; END $$");
  tx.exec("CREATE TRIGGER note_deletion AFTER DELETE ON " + old.table +
          " REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note_deletion()");
  tx.exec(old.insert, pqxx::params{limits::kRowsDeletedMax + 1});

  pqxx::connection elsewhere{database.url()};
  pqxx::work holder{elsewhere};
  REQUIRE(holder.exec("SELECT FROM " + old.table + " WHERE " + old.held + " FOR UPDATE").size() == 1);
  old.sweep(db);
  CHECK(tx.query_value<int>("SELECT count(*) FROM " + old.table) == before + 1);
  CHECK(tx.query_value<std::int64_t>("SELECT max(rows) FROM deletion") == limits::kRowsDeletedMax);
  CHECK(tx.query_value<std::int64_t>("SELECT sum(rows) FROM deletion") == limits::kRowsDeletedMax + 1);
  holder.abort();
  old.sweep(db);
  CHECK(tx.query_value<int>("SELECT count(*) FROM " + old.table) == before);
}

}  // namespace

TEST_CASE("old rows are deleted in bounded batches, without waiting for locked rows") {
  check_sweep({"audit_event",
               "INSERT INTO audit_event (at, action, subject) SELECT now() - interval '11 days', 'old', "
               "i::text FROM generate_series(0, $1::int) i",
               "subject = '0'", [](pg::Connection& db) { delete_old_events(db, std::chrono::days{10}); }});
  check_sweep({"rate_counter",
               "INSERT INTO rate_counter SELECT 'r' || i, 0, 1, now() - interval '1 hour' FROM "
               "generate_series(0, $1::int) i",
               "name = 'r0'", delete_old_rates});
  check_sweep({"login_origin",
               "INSERT INTO login_origin SELECT a.id, '10.0.0.0'::inet + i, now() - interval '1 year' FROM "
               "account a, generate_series(0, $1::int) i",
               "address = '10.0.0.0'", delete_old_login_origins});
  check_sweep({"login_token",
               "INSERT INTO login_token (token_hash, account_id, created_at, expires_at) SELECT "
               "sha256(i::text::bytea), a.id, now() - interval '3 days', now() - interval '2 days' FROM "
               "account a, generate_series(0, $1::int) i",
               "token_hash = sha256('0')", delete_expired_tokens});
  check_sweep({"machine",
               "INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, "
               "price_micro_per_cpu_second, removed_at) SELECT gen_random_uuid(), a.id, i::text, 1, 1, 1, 0, "
               "now() - interval '2 days' FROM account a, generate_series(0, $1::int) i",
               "name = '0'", delete_removed_machines});
  check_sweep({"machine_session",
               "WITH lent AS (INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, "
               "price_micro_per_cpu_second) SELECT gen_random_uuid(), id, 'm', 1, 1, 1, 0 FROM account "
               "RETURNING id) INSERT INTO machine_session (id, machine_id, market_id, cpu_cores_free, "
               "ram_mb_free, disc_mb_free, ended_at) SELECT gen_random_uuid(), l.id, l.id, i, 0, 0, now() - "
               "interval '2 hours' FROM lent l, generate_series(0, $1::int) i",
               "cpu_cores_free = 0", delete_ended_machine_sessions});
}

TEST_CASE("what is younger than the audit log is kept stays in it") {
  const Database database;
  pg::Connection db{database.url()};
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  tx.exec(
      "INSERT INTO audit_event (at, action) VALUES (now() - interval '11 days', 'old'), "
      "(now() - interval '9 days', 'young')");
  delete_old_events(db, std::chrono::days{10});
  CHECK(tx.query_value<std::string>("SELECT action FROM audit_event") == "young");
}
