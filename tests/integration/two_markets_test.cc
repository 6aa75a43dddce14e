// What one market does, every other of the same database knows. With one market this says little; script/test
// --markets 2 and tests/e2e/two_markets.sh run it against two.
#include <doctest/doctest.h>

#include "core/digest.h"
#include "market/store/admin.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using nlohmann::json;
using test::Http;

namespace {

struct MarketUser {
  std::string email = hex_of(random_bytes(8)) + "@example.org";
  std::string password = "long enough";
  std::string id;

  explicit MarketUser(Http& http) {
    const auto answer = http.send("POST", "/user/register", credentials());
    REQUIRE(answer.status == 201);
    id = answer.json()["id"];
  }
  json credentials() const { return {{"email", email}, {"password", password}}; }
  std::string token(Http& http) const {
    const auto answer = http.send("POST", "/user/login", credentials());
    REQUIRE(answer.status == 200);
    return answer.json()["token"];
  }
};

// The market that does a thing, and the one that must know of it.
struct Pair {
  Http here{test::market_urls().front()};
  Http there{test::market_urls().back()};

  // Used there first, so that whatever it may remember of a token it remembers.
  std::string token_of(const MarketUser& person) {
    std::string token = person.token(here);
    REQUIRE(there.get("/user/", token).status == 200);
    return token;
  }
  bool refused_there(const std::string& token) {
    return test::eventually([&] { return there.get("/user/", token).code() == "unauthenticated"; },
                            std::chrono::seconds{1});
  }
};

}  // namespace

TEST_CASE("a token that is logged out at one market is refused by the other within a second") {
  Pair markets;
  const MarketUser person{markets.here};
  const std::string token = markets.token_of(person);
  const std::string kept = markets.token_of(person);
  REQUIRE(markets.here.send("POST", "/user/logout", json::object(), token).status == 204);
  CHECK(markets.refused_there(token));
  CHECK(markets.there.get("/user/", kept).status == 200);
}

TEST_CASE("a password changed at one market ends the other logins at another market within a second") {
  Pair markets;
  const MarketUser person{markets.here};
  const std::string token = markets.token_of(person);
  const std::string kept = markets.token_of(person);
  const json change{{"old", person.password}, {"new", "another one"}};
  REQUIRE(markets.here.send("POST", "/user/password", change, kept).status == 200);
  CHECK(markets.refused_there(token));
  CHECK(markets.there.get("/user/", kept).status == 200);
  CHECK(markets.there.send("POST", "/user/login", person.credentials()).code() == "wrong_credentials");
}

TEST_CASE("an account disabled at one market is refused by the other within a second") {
  Pair markets;
  const MarketUser boss{markets.here};
  {
    pg::Connection db{test::env("REMOTIST_DATABASE_URL")};
    market::make_admin(db, AccountId::parse(boss.id).value());
  }
  const MarketUser person{markets.here};
  const std::string token = markets.token_of(person);
  const std::string by = markets.token_of(boss);
  REQUIRE(markets.here.send("POST", "/admin/users/" + person.id + "/disable", json::object(), by).status ==
          204);
  CHECK(markets.refused_there(token));
  CHECK(markets.there.send("POST", "/user/login", person.credentials()).status == 401);
}

TEST_CASE("a key used at one market is known to the other: one job") {
  Pair markets;
  const MarketUser person{markets.here};
  const std::string token = markets.token_of(person);
  const json job{{"name", "j"}, {"exec_file", "a.R"}, {"code", "1"}, {"price", 2.5}, {"submit", true}};
  const std::vector<std::string> key{"Idempotency-Key: " + hex_of(random_bytes(8))};
  const auto first = markets.here.send("PUT", "/job/", job, token, key);
  const auto second = markets.there.send("PUT", "/job/", job, token, key);
  REQUIRE(first.status == 201);
  REQUIRE(second.status == 201);
  CHECK(first.json()["id"] == second.json()["id"]);
  CHECK(markets.there.get("/user/", token).json()["held"] == 2.5);
}

TEST_CASE("logins that fail at two markets are counted together") {
  Pair markets;
  const MarketUser person{markets.here};
  const json wrong{{"email", person.email}, {"password", "not the one"}};
  for (int i = 0; i < 5; ++i) {
    CHECK(markets.here.send("POST", "/user/login", wrong).code() == "wrong_credentials");
    CHECK(markets.there.send("POST", "/user/login", wrong).code() == "wrong_credentials");
  }
  CHECK(markets.here.send("POST", "/user/login", wrong).code() == "rate_limited");
  CHECK(markets.there.send("POST", "/user/login", wrong).code() == "rate_limited");
}
