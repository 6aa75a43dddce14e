// The way in: registering, logging in and out, passwords, and what keeps strangers from trying without end.
#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/digest.h"
#include "core/limits.h"
#include "core/pg/session.h"
#include "market/service/accounts.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"

using namespace remotist;
using namespace remotist::market;
using nlohmann::json;
using test::Database;
using test::Http;

namespace {

constexpr std::chrono::hours kLong{1};

struct Person {
  std::string email = hex_of(random_bytes(8)) + "@example.org";
  std::string password = "long enough";
  json credentials() const { return {{"email", email}, {"password", password}}; }
};

Person registered(Http& http) {
  Person person;
  REQUIRE(http.send("POST", "/user/register", person.credentials()).status == 201);
  return person;
}

std::string logged_in(Http& http, const Person& person) {
  const auto answer = http.send("POST", "/user/login", person.credentials());
  REQUIRE(answer.status == 200);
  return answer.json()["token"];
}

Result<AccountId> register_from(pg::Session& db, const RegistrationRules& rules, const std::string& address,
                                const std::optional<std::string>& invitation = {}) {
  return register_account(db, rules, hex_of(random_bytes(8)) + "@example.org", "x", address, invitation);
}

}  // namespace

TEST_CASE("an account shows its balance and what its jobs hold") {
  Http http{test::env("REMOTIST_URL")};
  const Person person = registered(http);
  const std::string token = logged_in(http, person);
  const auto before = http.get("/user/", token).json();
  CHECK(before["email"] == person.email);
  CHECK(before["role"] == "user");
  CHECK(before["balance"] == 100);
  CHECK(before["held"] == 0);
  const json job{{"name", "j"}, {"exec_file", "a.R"}, {"code", "1"}, {"price", 2.5}, {"submit", true}};
  REQUIRE(http.send("PUT", "/job/", job, token).status == 201);
  const auto after = http.get("/user/", token).json();
  CHECK(after["balance"] == 97.5);
  CHECK(after["held"] == 2.5);
}

TEST_CASE("logging out ends that session and no other") {
  Http http{test::env("REMOTIST_URL")};
  const Person person = registered(http);
  const std::string one = logged_in(http, person);
  const std::string two = logged_in(http, person);
  CHECK(http.send("POST", "/user/logout", json::object(), one).status == 204);
  CHECK(http.get("/user/", one).code() == "unauthenticated");
  CHECK(http.send("POST", "/user/logout", json::object(), one).code() == "unauthenticated");
  CHECK(http.get("/user/", two).status == 200);
}

TEST_CASE("changing the password needs the old one, and ends every other session") {
  Http http{test::env("REMOTIST_URL")};
  Person person = registered(http);
  const std::string kept = logged_in(http, person);
  const std::string other = logged_in(http, person);
  const auto change = [&](const char* old_password, const char* new_password) {
    return http.send("POST", "/user/password", {{"old", old_password}, {"new", new_password}}, kept);
  };
  CHECK(change("not the one", "another one").code() == "wrong_credentials");
  CHECK(change("long enough", "short").json()["field"] == "new");
  CHECK(http.get("/user/", other).status == 200);

  const auto changed = change("long enough", "another one");
  CHECK(changed.status == 200);
  CHECK(changed.json()["sessions_ended"] == 1);
  CHECK(http.get("/user/", kept).status == 200);
  CHECK(http.get("/user/", other).code() == "unauthenticated");
  CHECK(http.send("POST", "/user/login", person.credentials()).code() == "wrong_credentials");
  person.password = "another one";
  CHECK(http.send("POST", "/user/login", person.credentials()).status == 200);
}

TEST_CASE("a token ends when its time is over, and when its account is disabled") {
  const Database database;
  const auto account = test::make_account(database.url(), 0);
  pg::Session db{database.url()};
  CHECK(account_of(db, account.token_hash));
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  tx.exec("UPDATE account SET disabled_at = now()");
  CHECK_FALSE(account_of(db, account.token_hash));
  CHECK_FALSE(end_session_token(db, account.token_hash));
  tx.exec("UPDATE account SET disabled_at = NULL");
  CHECK(account_of(db, account.token_hash));
  tx.exec(
      "UPDATE session_token SET created_at = now() - interval '2 s', expires_at = now() - interval '1 s'");
  CHECK_FALSE(account_of(db, account.token_hash));
}

TEST_CASE("log-ins that fail are counted by e-mail and address: allowed to the limit, refused past it") {
  const Database database;
  pg::Session db{database.url()};
  const std::string email = "ana@example.org";
  REQUIRE(register_account(db, {.per_address_hour_max = 5}, email, "x", "192.0.2.1", {}).ok());
  const auto fail_from = [&](const std::string& who, const char* address) {
    const auto attempt = begin_login(db, who, address);
    if (!attempt) return attempt.refusal().code;
    return finish_login(db, *attempt, false, who, kLong).refusal().code;
  };
  for (int i = 0; i < limits::kLoginFailuresMax; ++i)
    CHECK(fail_from(email, "192.0.2.1") == Code::wrong_credentials);
  CHECK(fail_from(email, "192.0.2.1") == Code::rate_limited);
  // In another case it is the same e-mail; another address and another e-mail are free.
  CHECK(fail_from("ANA@example.org", "192.0.2.1") == Code::rate_limited);
  CHECK(fail_from(email, "192.0.2.2") == Code::wrong_credentials);
  CHECK(fail_from("bea@example.org", "192.0.2.1") == Code::wrong_credentials);
  // Logging in from elsewhere clears the e-mail.
  const auto attempt = begin_login(db, email, "192.0.2.2");
  REQUIRE(attempt.ok());
  CHECK(finish_login(db, *attempt, true, email, kLong).ok());
  CHECK(fail_from(email, "192.0.2.1") == Code::wrong_credentials);
}

TEST_CASE(
    "one address that tries many e-mails, and one e-mail tried from many addresses, are stopped at their "
    "limits") {
  const Database database;
  pg::Session db{database.url()};
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  tx.exec(
      "INSERT INTO login_failure (email, address) SELECT 'p' || n, '192.0.2.1' FROM generate_series(1, "
      "$1::int) n",
      pqxx::params{limits::kLoginFailuresPerAddressMax - 1});
  CHECK(begin_login(db, "a@b", "192.0.2.1").ok());  // counts as the last failure
  CHECK(begin_login(db, "a@b", "192.0.2.1").refusal().code == Code::rate_limited);

  tx.exec(
      "INSERT INTO login_failure (email, address) SELECT 'v@b', '10.0.0.0'::inet + n FROM generate_series(1, "
      "$1::int) n",
      pqxx::params{limits::kLoginFailuresPerEmailMax - 1});
  CHECK(begin_login(db, "V@b", "203.0.113.9").ok());
  CHECK(begin_login(db, "v@b", "203.0.113.10").refusal().code == Code::rate_limited);
  // What is too old does not count.
  tx.exec("UPDATE login_failure SET at = at - make_interval(secs => $1)",
          pqxx::params{limits::kLoginFailureSeconds});
  CHECK(begin_login(db, "v@b", "203.0.113.10").ok());
  forget_login_failures(db, "v@b", std::chrono::seconds{limits::kLoginFailureSeconds});
  CHECK(tx.query_value<int>("SELECT count(*) FROM login_failure") == 0);
}

TEST_CASE("accounts made from one address are bounded: an IPv6 subscriber is one address") {
  const Database database;
  pg::Session db{database.url()};
  const RegistrationRules rules{.per_address_hour_max = 2};
  CHECK(register_from(db, rules, "192.0.2.1").ok());
  CHECK(register_from(db, rules, "192.0.2.1").ok());
  CHECK(register_from(db, rules, "192.0.2.1").refusal().code == Code::rate_limited);
  CHECK(register_from(db, rules, "192.0.2.2").ok());
  CHECK(register_from(db, rules, "2001:db8:0:1::1").ok());
  CHECK(register_from(db, rules, "2001:db8:0:1::2").ok());
  CHECK(register_from(db, rules, "2001:db8:0:1:ffff::3").refusal().code == Code::rate_limited);
  CHECK(register_from(db, rules, "2001:db8:0:2::1").ok());
}

TEST_CASE("an invitation makes one account, and a closed market makes none") {
  const Database database;
  pg::Session db{database.url()};
  const RegistrationRules rules{.policy = RegistrationPolicy::invitation, .per_address_hour_max = 100};
  CHECK(check_may_register(rules, {}).refusal().code == Code::forbidden);
  CHECK(check_may_register({.policy = RegistrationPolicy::closed}, "code").refusal().code == Code::forbidden);
  create_invitation(db, token_hash("good"), kLong);
  create_invitation(db, token_hash("old"), std::chrono::seconds{-1});
  CHECK(register_from(db, rules, "192.0.2.1", "guessed").refusal().field == "invitation");
  CHECK(register_from(db, rules, "192.0.2.1", "old").refusal().field == "invitation");

  // A refused registration does not use it up.
  REQUIRE(create_account(db, {.email = "taken@example.org"}) == Registration::created);
  CHECK(register_account(db, rules, "taken@example.org", "x", "192.0.2.1", "good").refusal().code ==
        Code::email_taken);
  CHECK(register_from(db, rules, "192.0.2.1", "good").ok());
  CHECK(register_from(db, rules, "192.0.2.1", "good").refusal().field == "invitation");
  test::check_ledger(database.url());
}
