// The last answers of a market that is stopping.
#include <doctest/doctest.h>
#include <signal.h>

#include "tests/support/eventually.h"
#include "tests/support/own_market.h"
#include "tests/support/raw.h"

using namespace remotist;
using test::OwnMarket;
using test::Raw;
using test::request_text;

TEST_CASE("every answer given while the market stops says that the connection ends, and it does") {
  OwnMarket market;
  const auto account = test::make_account(market.database_url(), 0);
  const std::string ask = request_text("GET", "/user/", "Authorization: Bearer " + account.token + "\r\n");
  const std::string health = request_text("GET", "/healthz");
  Raw begun{market.url()};
  Raw kept{market.url()};
  Raw looking{market.url()};
  const auto before = [&](Raw& connection, const std::string& request) {
    REQUIRE(connection.send(request));
    const auto answer = connection.answer();
    REQUIRE(answer.status == 200);
    CHECK_FALSE(answer.closes());
  };
  before(begun, ask);
  before(kept, ask);
  before(looking, health);
  {
    // Holds the first request, and with it the market, until the others were answered.
    const test::LockedTable locked{market.database_url(), "login_token"};
    REQUIRE(begun.send(ask));
    CHECK_FALSE(begun.ends(std::chrono::milliseconds{200}));
    market.signal(SIGTERM);
    REQUIRE(test::eventually([&] { return test::answer_to(market.url(), health).status == 503; }));

    REQUIRE(kept.send(ask));
    const auto refused = kept.answer();
    CHECK(refused.status == 503);
    CHECK(refused.code() == "busy");
    CHECK(refused.closes());
    CHECK(kept.ends(std::chrono::seconds{5}));

    REQUIRE(looking.send(health));
    const auto at_health = looking.answer();
    CHECK(at_health.status == 503);
    CHECK(at_health.body.contains("stopping"));
    CHECK(at_health.closes());

    const auto newcomer = test::answer_to(market.url(), request_text("GET", "/nowhere"));
    CHECK(newcomer.status == 404);
    CHECK(newcomer.closes());
  }
  const auto last = begun.answer();
  CHECK(last.status == 200);
  CHECK(last.closes());
  CHECK(begun.ends(std::chrono::seconds{5}));
  CHECK(market.ends());
}
