// The way in: registering, logging in and out, passwords, and what keeps strangers from trying without end.
#include <atomic>
#include <doctest/doctest.h>
#include <pqxx/pqxx>
#include <thread>

#include "core/digest.h"
#include "core/limits.h"
#include "core/pg/connection.h"
#include "market/service/accounts.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/own_market.h"

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

RequestOrigin from(const std::string& address) {
  return {.address = address, .request = RequestId::make()};
}

// Both halves, without a password between them.
Result<AccountId> register_as(pg::Connection& db, const RegistrationRules& rules, const std::string& email,
                              const std::string& address, const std::optional<std::string>& invitation = {}) {
  const auto counted = begin_registration(db, rules, email, from(address), invitation);
  if (!counted) return counted.refusal();
  return register_account(db, rules, email, "x", from(address), invitation);
}
Result<AccountId> register_from(pg::Connection& db, const RegistrationRules& rules,
                                const std::string& address,
                                const std::optional<std::string>& invitation = {}) {
  return register_as(db, rules, hex_of(random_bytes(8)) + "@example.org", address, invitation);
}

// What whoever tries a password from there is told.
Code tried(pg::Connection& db, const std::string& email, const std::string& address, bool right = false) {
  const auto attempt = begin_login(db, email, from(address));
  if (!attempt) return attempt.refusal().code;
  const auto session = finish_login(db, *attempt, right, from(address), kLong);
  return session ? Code::internal : session.refusal().code;
}
constexpr Code kLoggedIn = Code::internal;

std::int64_t number(const Database& database, const std::string& query) {
  pqxx::connection connection{database.url()};
  return pqxx::nontransaction{connection}.query_value<std::int64_t>(query);
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

TEST_CASE("logging out ends that login and no other") {
  Http http{test::env("REMOTIST_URL")};
  const Person person = registered(http);
  const std::string one = logged_in(http, person);
  const std::string two = logged_in(http, person);
  CHECK(http.send("POST", "/user/logout", json::object(), one).status == 204);
  CHECK(http.get("/user/", one).code() == "unauthenticated");
  CHECK(http.send("POST", "/user/logout", json::object(), one).code() == "unauthenticated");
  CHECK(http.get("/user/", two).status == 200);
}

TEST_CASE("changing the password needs the old one, and ends every other login") {
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
  CHECK(changed.json()["logins_ended"] == 1);
  CHECK(http.get("/user/", kept).status == 200);
  CHECK(http.get("/user/", other).code() == "unauthenticated");
  CHECK(http.send("POST", "/user/login", person.credentials()).code() == "wrong_credentials");
  person.password = "another one";
  CHECK(http.send("POST", "/user/login", person.credentials()).status == 200);
}

TEST_CASE("a token ends when its time is over, and when its account is disabled") {
  const Database database;
  const auto account = test::make_account(database.url(), 0);
  pg::Connection db{database.url()};
  CHECK(account_of(db, account.token_hash));
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  tx.exec("UPDATE account SET disabled_at = now()");
  CHECK_FALSE(account_of(db, account.token_hash));
  CHECK_FALSE(end_login_token(db, account.token_hash));
  tx.exec("UPDATE account SET disabled_at = NULL");
  CHECK(account_of(db, account.token_hash));
  tx.exec("UPDATE login_token SET created_at = now() - interval '2 s', expires_at = now() - interval '1 s'");
  CHECK_FALSE(account_of(db, account.token_hash));
}

TEST_CASE("logins that fail are counted by e-mail and address: allowed to the limit, refused past it") {
  const Database database;
  pg::Connection db{database.url()};
  const std::string email = "ana@example.org";
  REQUIRE(register_as(db, {.per_address_hour_max = 5}, email, "192.0.2.1").ok());
  for (int i = 0; i < limits::kLoginFailuresMax; ++i)
    CHECK(tried(db, email, "192.0.2.1") == Code::wrong_credentials);
  CHECK(tried(db, email, "192.0.2.1", true) == Code::rate_limited);
  // In another case it is the same e-mail; another address and another e-mail are free.
  CHECK(tried(db, "ANA@example.org", "192.0.2.1") == Code::rate_limited);
  CHECK(tried(db, email, "192.0.2.2") == Code::wrong_credentials);
  CHECK(tried(db, "bea@example.org", "192.0.2.1") == Code::wrong_credentials);
  // Who logs in begins anew, and nobody else does.
  CHECK(tried(db, email, "192.0.2.2", true) == kLoggedIn);
  CHECK(number(database, "SELECT count(*) FROM rate_counter WHERE name LIKE 'login:both:192.0.2.2 %'") == 0);
  CHECK(tried(db, email, "192.0.2.1") == Code::rate_limited);
  // What is too old does not count.
  pqxx::connection connection{database.url()};
  pqxx::nontransaction{connection}.exec("UPDATE rate_counter SET ends_at = now()");
  CHECK(tried(db, email, "192.0.2.1") == Code::wrong_credentials);
  delete_old_rates(db);
  CHECK(number(database, "SELECT count(*) FROM rate_counter WHERE ends_at <= now()") == 0);
}

TEST_CASE("a password that is not hashed after all is not counted as a failure") {
  const Database database;
  pg::Connection db{database.url()};
  for (int i = 0; i < 3 * limits::kLoginFailuresMax; ++i) {
    const auto attempt = begin_login(db, "a@b", from("192.0.2.1"));
    REQUIRE(attempt.ok());
    uncount_attempt(db, attempt->counted);
  }
  CHECK(number(database, "SELECT sum(count) FROM rate_counter") == 0);
}

TEST_CASE("guesses that come all at once are counted as if they came one after the other") {
  const Database database;
  std::atomic<int> passed = 0;
  std::vector<std::jthread> guessers;
  for (int i = 0; i < 8; ++i) {
    guessers.emplace_back([&] {
      pg::Connection db{database.url()};
      for (int guess = 0; guess < 5; ++guess) passed += begin_login(db, "ana@b", from("192.0.2.1")).ok();
    });
  }
  guessers.clear();
  CHECK(passed == limits::kLoginFailuresMax);
  CHECK(number(database, "SELECT count FROM rate_counter WHERE name = 'login:address:192.0.2.1'") ==
        limits::kLoginFailuresMax);

  passed = 0;
  const RegistrationRules rules{.per_address_hour_max = 7};
  for (int i = 0; i < 8; ++i) {
    guessers.emplace_back([&] {
      pg::Connection db{database.url()};
      for (int each = 0; each < 5; ++each) passed += register_from(db, rules, "192.0.2.1").ok();
    });
  }
  guessers.clear();
  CHECK(passed == 7);
}

TEST_CASE("one address that tries many e-mails is stopped at its limit: an IPv6 subscriber is one address") {
  const Database database;
  pg::Connection db{database.url()};
  for (int i = 0; i < limits::kLoginFailuresPerAddressMax; ++i) {
    CHECK(tried(db, std::to_string(i) + "@b", "2001:db8:0:1::" + std::to_string(i)) ==
          Code::wrong_credentials);
  }
  CHECK(tried(db, "another@b", "2001:db8:0:1:ffff::") == Code::rate_limited);
  CHECK(tried(db, "another@b", "2001:db8:0:2::") == Code::wrong_credentials);
}

TEST_CASE(
    "an e-mail tried from many addresses is closed to strangers, and not where its owner has logged in") {
  const Database database;
  pg::Connection db{database.url()};
  const std::string email = "ana@example.org";
  REQUIRE(register_as(db, {.per_address_hour_max = 5}, email, "192.0.2.1").ok());
  REQUIRE(tried(db, email, "2001:db8:0:1::7", true) == kLoggedIn);
  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  tx.exec("UPDATE rate_counter SET count = $1 WHERE name = 'login:email:ana@example.org'",
          pqxx::params{limits::kLoginFailuresPerEmailMax - 1});
  CHECK(tried(db, email, "203.0.113.9") == Code::wrong_credentials);
  CHECK(tried(db, email, "203.0.113.10") == Code::rate_limited);
  CHECK(tried(db, email, "203.0.113.10", true) == Code::rate_limited);

  CHECK(tried(db, email, "2001:db8:0:1::8", true) == kLoggedIn);
  // Nor is it a way to guess on: there the failures of the address count.
  for (int i = 0; i < limits::kLoginFailuresMax; ++i)
    CHECK(tried(db, email, "2001:db8:0:1::9") == Code::wrong_credentials);
  CHECK(tried(db, email, "2001:db8:0:1::9") == Code::rate_limited);
  // An address is known for so long and no longer.
  tx.exec("DELETE FROM rate_counter WHERE name LIKE 'login:both:%'");
  tx.exec("UPDATE login_origin SET at = now() - make_interval(days => $1)",
          pqxx::params{limits::kLoginOriginDays});
  CHECK(tried(db, email, "2001:db8:0:1::8", true) == Code::rate_limited);
  delete_old_login_origins(db);
  CHECK(number(database, "SELECT count(*) FROM login_origin") == 0);
}

TEST_CASE("a wrong old password counts as a failed login, so a token does not help to guess the password") {
  const test::OwnMarket market;
  Http http{market.url()};
  const Person person = registered(http);
  const std::string token = logged_in(http, person);
  const auto guess = [&](const std::string& old_password) {
    return http.send("POST", "/user/password", {{"old", old_password}, {"new", "another one"}}, token);
  };
  for (int i = 0; i < limits::kLoginFailuresMax; ++i)
    CHECK(guess("guess " + std::to_string(i)).code() == "wrong_credentials");
  CHECK(guess("one more guess").code() == "rate_limited");
  CHECK(guess(person.password).code() == "rate_limited");
  CHECK(http.send("POST", "/user/login", person.credentials()).code() == "rate_limited");
}

TEST_CASE("accounts made from one address are bounded by the hour and by the day") {
  const Database database;
  pg::Connection db{database.url()};
  const RegistrationRules rules{.per_address_hour_max = 2};
  CHECK(register_from(db, rules, "192.0.2.1").ok());
  CHECK(register_from(db, rules, "192.0.2.1").ok());
  CHECK(register_from(db, rules, "192.0.2.1").refusal().code == Code::rate_limited);
  CHECK(register_from(db, rules, "::ffff:192.0.2.1").refusal().code == Code::rate_limited);
  CHECK(register_from(db, rules, "192.0.2.2").ok());
  CHECK(register_from(db, rules, "2001:db8:0:1::1").ok());
  CHECK(register_from(db, rules, "2001:db8:0:1::2").ok());
  CHECK(register_from(db, rules, "2001:db8:0:1:ffff::3").refusal().code == Code::rate_limited);
  CHECK(register_from(db, rules, "2001:db8:0:2::1").ok());

  pqxx::connection connection{database.url()};
  pqxx::nontransaction tx{connection};
  const auto an_hour_later = [&] {
    tx.exec("UPDATE rate_counter SET ends_at = ends_at - interval '1 hour' WHERE name LIKE 'register:%'");
  };
  for (int hour = 1; hour < limits::kRegistrationHoursADay; ++hour) {
    an_hour_later();
    CHECK(register_from(db, rules, "192.0.2.1").ok());
    CHECK(register_from(db, rules, "192.0.2.1").ok());
  }
  an_hour_later();
  CHECK(register_from(db, rules, "192.0.2.1").refusal().code == Code::rate_limited);
  tx.exec("UPDATE rate_counter SET ends_at = ends_at - interval '1 day'");
  CHECK(register_from(db, rules, "192.0.2.1").ok());
  CHECK(register_from(db, {.per_address_hour_max = 0}, "192.0.2.9").refusal().code == Code::rate_limited);
}

TEST_CASE(
    "refused registrations count, and cost no hash: e-mails and invitations are not tried without end") {
  const Database database;
  pg::Connection db{database.url()};
  REQUIRE(create_account(db, {.email = "taken@example.org"}) == Registration::created);
  const auto begun = [&](RegistrationPolicy policy, const std::string& email,
                         const std::optional<std::string>& invitation) {
    return begin_registration(db, {.policy = policy, .per_address_hour_max = 2}, email, from("192.0.2.1"),
                              invitation)
        .refusal()
        .code;
  };
  CHECK(begun(RegistrationPolicy::open, "TAKEN@example.org", {}) == Code::email_taken);
  CHECK(begun(RegistrationPolicy::invitation, "new@example.org", "guessed") == Code::forbidden);
  CHECK(begun(RegistrationPolicy::open, "new@example.org", {}) == Code::rate_limited);
}

TEST_CASE("an address that floods registrations, logins and passwords keeps nobody else from logging in") {
  // Counted limits are out of the way: what is tried here is the queue of passwords alone.
  const test::OwnMarket market{{{"TRUSTED_PROXIES", "127.0.0.1"}}};
  const auto headers = [](const std::string& address) {
    return std::vector<std::string>{"X-Forwarded-For: " + address};
  };
  Http setup{market.url()};
  Person person;
  REQUIRE(setup.send("POST", "/user/register", person.credentials(), "", headers("192.0.2.200")).status ==
          201);
  std::atomic<bool> stop = false;
  std::atomic<int> refused = 0;
  std::vector<std::jthread> flood;
  for (int i = 0; i < 70; ++i) {
    flood.emplace_back([&, i] {
      Http http{market.url()};
      while (!stop) {
        const Person another;
        const auto answer =
            http.send("POST", i % 2 == 0 ? "/user/register" : "/user/login", another.credentials(), "",
                      headers("2001:db8:0:1::" + std::to_string(i)));
        if (answer.code() == "rate_limited") ++refused;
      }
    });
  }
  REQUIRE(test::eventually([&] { return refused >= 100; }));
  for (int i = 1; i <= 19; ++i) {
    const auto answer =
        setup.send("POST", "/user/login", person.credentials(), "", headers("192.0.2." + std::to_string(i)));
    CHECK(answer.status == 200);
  }
  stop = true;
}

TEST_CASE("an invitation makes one account, and a closed market makes none") {
  const Database database;
  pg::Connection db{database.url()};
  const RegistrationRules rules{.policy = RegistrationPolicy::invitation, .per_address_hour_max = 100};
  CHECK(register_from(db, rules, "192.0.2.1").refusal().code == Code::forbidden);
  CHECK(register_from(db, {.policy = RegistrationPolicy::closed}, "192.0.2.1", "code").refusal().code ==
        Code::forbidden);
  create_invitation(db, token_hash("good"), kLong);
  create_invitation(db, token_hash("old"), std::chrono::seconds{-1});
  CHECK(register_from(db, rules, "192.0.2.1", "guessed").refusal().field == "invitation");
  CHECK(register_from(db, rules, "192.0.2.1", "old").refusal().field == "invitation");

  // A refused registration does not use it up.
  REQUIRE(create_account(db, {.email = "taken@example.org"}) == Registration::created);
  CHECK(register_as(db, rules, "taken@example.org", "192.0.2.1", "good").refusal().code == Code::email_taken);
  // Nor if that happens while its password is hashed.
  CHECK(register_account(db, rules, "taken@example.org", "x", from("192.0.2.1"), "good").refusal().code ==
        Code::email_taken);
  CHECK(register_from(db, rules, "192.0.2.1", "good").ok());
  CHECK(register_from(db, rules, "192.0.2.1", "good").refusal().field == "invitation");
  test::check_ledger(database.url());
}

TEST_CASE("an account has so many logins at once, and a new one ends the oldest") {
  Http http{test::env("REMOTIST_URL")};
  const auto person = registered(http);
  const auto oldest = logged_in(http, person);
  const auto works = [&http](const std::string& token) { return http.get("/user/", token).status == 200; };
  pqxx::connection db{test::env("REMOTIST_DATABASE_URL")};
  pqxx::work work{db};
  work.exec(
      "INSERT INTO login_token (token_hash, account_id, expires_at) "
      "SELECT sha256(gen_random_uuid()::text::bytea), id, now() + interval '1 hour' "
      "FROM account, generate_series(1, $2::int) WHERE email = $1",
      pqxx::params{person.email, limits::kLoginsPerAccountMax - 2});
  work.commit();
  const auto at_limit = logged_in(http, person);
  CHECK(works(oldest));
  const auto newest = logged_in(http, person);
  CHECK_FALSE(works(oldest));
  CHECK(works(newest));
}
