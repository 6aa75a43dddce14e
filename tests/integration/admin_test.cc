// What admins may do, and that nobody else may.
#include "market/store/admin.h"

#include <doctest/doctest.h>
#include <fstream>
#include <pqxx/pqxx>

#include "core/digest.h"
#include "core/limits.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"

using namespace remotist;
using nlohmann::json;
using test::Http;

namespace {

struct Member {
  std::string id;
  std::string token;
};

Member newcomer(Http& http, const json& extra = json::object()) {
  json credentials{{"email", hex_of(random_bytes(8)) + "@example.org"}, {"password", "long enough"}};
  json registration = credentials;
  registration.update(extra);
  const auto answer = http.send("POST", "/user/register", registration);
  REQUIRE(answer.status == 201);
  return {answer.json()["id"], http.send("POST", "/user/login", credentials).json()["token"]};
}

Member admin(Http& http) {
  Member person = newcomer(http);
  pg::Connection db{test::env("REMOTIST_DATABASE_URL")};
  market::make_admin(db, AccountId::parse(person.id).value());
  return person;
}

}  // namespace

TEST_CASE("every admin route is closed to nobody and to users, and nothing happens") {
  Http http{test::env("REMOTIST_URL")};
  const Member user = newcomer(http);
  const Member victim = newcomer(http);
  const std::string account = "/admin/users/" + victim.id;
  struct Row {
    const char* method;
    std::string path;
    json body;
  };
  for (const auto& [method, path, body] : std::vector<Row>{{"GET", "/admin/users", {}},
                                                           {"GET", "/admin/jobs", {}},
                                                           {"GET", "/admin/audit", {}},
                                                           {"POST", account + "/disable", json::object()},
                                                           {"POST", account + "/enable", json::object()},
                                                           {"POST", account + "/grant", {{"credits", 5}}},
                                                           {"POST", "/admin/invitations", json::object()}}) {
    CAPTURE(path);
    const std::vector<std::string> key{"Idempotency-Key: " + hex_of(random_bytes(8))};
    CHECK(http.send(method, path, body, "", key).code() == "unauthenticated");
    CHECK(http.send(method, path, body, "remotist_user_forged", key).code() == "unauthenticated");
    CHECK(http.send(method, path, body, user.token, key).code() == "forbidden");
  }
  const auto untouched = http.get("/user/", victim.token);
  CHECK(untouched.status == 200);
  CHECK(untouched.json()["balance"] == 100);
}

TEST_CASE("an admin disables an account, whose logins end, and enables it again") {
  Http http{test::env("REMOTIST_URL")};
  const Member boss = admin(http);
  const Member user = newcomer(http);
  const std::string account = "/admin/users/" + user.id;
  CHECK(http.send("POST", account + "/disable", json::object(), boss.token).status == 204);
  CHECK(http.get("/user/", user.token).code() == "unauthenticated");
  CHECK(http.send("POST", account + "/enable", json::object(), boss.token).status == 204);
  CHECK(http.get("/user/", user.token).code() == "unauthenticated");
  const std::string nobody = "/admin/users/" + uuid_text(uuid_v7());
  CHECK(http.send("POST", nobody + "/disable", json::object(), boss.token).code() == "not_found");
}

TEST_CASE("a grant happens once for each key") {
  Http http{test::env("REMOTIST_URL")};
  const Member boss = admin(http);
  const Member user = newcomer(http);
  const std::string path = "/admin/users/" + user.id + "/grant";
  const std::vector<std::string> key{"Idempotency-Key: " + hex_of(random_bytes(8))};
  for (int i = 0; i < 3; ++i)
    CHECK(http.send("POST", path, {{"credits", 2.5}}, boss.token, key).status == 204);
  CHECK(http.get("/user/", user.token).json()["balance"] == 102.5);
  CHECK(http.send("POST", path, {{"credits", 3}}, boss.token, key).code() == "idempotency_mismatch");
  CHECK(http.send("POST", path, {{"credits", 3}}, boss.token).json()["field"] == "Idempotency-Key");
  for (const json& bad : {json(0), json(-1), json("5"), json(1e-9)}) {
    CHECK(http.send("POST", path, {{"credits", bad}}, boss.token, key).json()["field"] == "credits");
  }
  CHECK(http.get("/user/", user.token).json()["balance"] == 102.5);
}

TEST_CASE("an admin sees every account and job, and the audit") {
  Http http{test::env("REMOTIST_URL")};
  const Member boss = admin(http);
  const Member user = newcomer(http);
  const json job{{"name", "seen"}, {"exec_file", "a.R"}, {"price", 1}};
  const std::string id = http.send("PUT", "/job/", job, user.token).json()["id"];
  const auto users = http.get("/admin/users?per_page=1", boss.token).json();
  CHECK(users["users"][0]["id"] == user.id);
  CHECK(users["more"] == true);
  const auto jobs = http.get("/admin/jobs?state=uploading&per_page=1", boss.token).json();
  CHECK(jobs["jobs"][0]["id"] == id);
  CHECK(jobs["jobs"][0]["account"] == user.id);
  CHECK(http.get("/job/" + id, boss.token).status == 200);
  const auto audit = http.get("/admin/audit", boss.token).json();
  CHECK(audit["ok"] == true);
  CHECK(audit["first_broken"].is_null());
  CHECK(audit["invariants"].size() >= 8);
}

TEST_CASE("an admin sees everybody's machines, and sets how much an account may store") {
  Http http{test::env("REMOTIST_URL")};
  const Member user = newcomer(http);
  const Member boss = admin(http);
  const auto machine = http.send("PUT", "/machine/", {{"name", "lab"}}, user.token).json();
  CHECK(http.get("/admin/machines?per_page=1", boss.token).json()["machines"] == json::array({machine}));

  const auto set = [&](const json& megabytes) {
    return http.send("POST", "/admin/users/" + user.id + "/quota", {{"megabytes", megabytes}}, boss.token);
  };
  const auto quota = [&] {
    return http.get("/user/", user.token).json()["storage_quota"].get<std::int64_t>();
  };
  CHECK(quota() == std::int64_t{10} << 30);
  CHECK(set(limits::kQuotaMbMax).status == 204);
  CHECK(quota() == limits::kQuotaMbMax << 20);
  for (const json& wrong : {json(limits::kQuotaMbMax + 1), json(-1), json("1"), json(1.5), json(nullptr)}) {
    CAPTURE(wrong.dump());
    CHECK(set(wrong).code() == "invalid_field");
  }
  const std::string chunk(8 << 10, 'x');
  CHECK(http.call("PUT", "/blob/" + hex_of(sha256(chunk)), chunk, {"Authorization: Bearer " + user.token})
            .status == 204);
  CHECK(http.get("/user/", user.token).json()["storage_used"] == chunk.size());
  CHECK(set(0).code() == "wrong_state");  // less than is used
  CHECK(set(1).status == 204);
  CHECK(quota() == 1 << 20);
}

TEST_CASE("an admin makes invitations") {
  Http http{test::env("REMOTIST_URL")};
  const Member boss = admin(http);
  const auto made = http.send("POST", "/admin/invitations", {{"seconds", 60}}, boss.token);
  CHECK(made.status == 201);
  CHECK(made.json()["invitation"].get<std::string>().size() == 24);
  CHECK(http.send("POST", "/admin/invitations", {{"seconds", 0}}, boss.token).json()["field"] == "seconds");
}

TEST_CASE("create-admin makes an admin from a password on standard input, once") {
  const std::string program = test::env("REMOTIST_ROOT") + "/script/lib/remotist-market";
  const std::string email = hex_of(random_bytes(8)) + "@example.org";
  const std::string command = "printf 'long enough\\n' | '" + program + "' --state '" +
                              test::env("REMOTIST_STATE") + "' create-admin " + email;
  CHECK(test::output_of(command).find("created the admin") != std::string::npos);
  CHECK(test::output_of("! { " + command + "; }").find("exists already") != std::string::npos);
  Http http{test::env("REMOTIST_URL")};
  const auto login = http.send("POST", "/user/login", {{"email", email}, {"password", "long enough"}});
  REQUIRE(login.status == 200);
  CHECK(http.get("/admin/audit", login.json()["token"]).status == 200);
}

TEST_CASE("reset-password sets a password from standard input, and ends the logins that there are") {
  Http http{test::env("REMOTIST_URL")};
  const Member boss = admin(http);
  const std::string email = hex_of(random_bytes(8)) + "@example.org";
  const json before{{"email", email}, {"password", "long enough"}};
  const json after{{"email", email}, {"password", "another one"}};
  const auto registered = http.send("POST", "/user/register", before);
  REQUIRE(registered.status == 201);
  const std::string token = http.send("POST", "/user/login", before).json()["token"];
  const auto machine = http.send("PUT", "/machine/", {{"name", "m"}}, token).json()["id"].get<std::string>();
  const std::string machine_token =
      http.send("POST", "/machine/" + machine + "/startVolunteer", json::object(), token).json()["token"];

  const auto reset = [](const std::string& who, const std::string& password) {
    return "printf '%s\\n' '" + password + "' | '" + test::env("REMOTIST_ROOT") +
           "/script/lib/remotist-market' --state '" + test::env("REMOTIST_STATE") + "' reset-password " + who;
  };
  const auto refused = [&](const std::string& who, const std::string& password) {
    return test::output_of("! { " + reset(who, password) + " 2>&1; }");
  };
  CHECK(refused("nobody@example.org", "another one").contains("there is no account"));
  CHECK(refused(email, "short").contains("a password has"));
  CHECK(http.get("/user/", token).status == 200);  // refusals have changed nothing
  CHECK(test::output_of(reset(email, "another one")).contains("set the password of " + email));
  CHECK(http.get("/user/", token).code() == "unauthenticated");
  CHECK(http.get("/machine/" + machine, machine_token).status == 200);
  CHECK(http.send("POST", "/user/login", before).code() == "wrong_credentials");
  CHECK(http.send("POST", "/user/login", after).status == 200);
  const auto events =
      http.get("/admin/events?action=password_reset&account=" + registered.json()["id"].get<std::string>(),
               boss.token)
          .json()["events"];
  REQUIRE(events.size() == 1);
  CHECK(events[0]["account"].is_null());
  CHECK(events[0]["address"].is_null());
}
