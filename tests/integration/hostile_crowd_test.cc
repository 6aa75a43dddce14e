// Thousands who begin a request and never end it, while others want to be served.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/own_market.h"
#include "tests/support/raw.h"
#include "tests/support/registered.h"
#include "tests/support/untouched.h"

using namespace remotist;
using nlohmann::json;
using test::Http;
using test::Raw;
using test::registered_token;

namespace {

rlimit descriptors() {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return limit;
}

// The test itself needs a descriptor for each of its connections.
struct ManyDescriptors {
  rlimit before = descriptors();
  ManyDescriptors() {
    const rlimit most{.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &most) == 0);
  }
  ~ManyDescriptors() { setrlimit(RLIMIT_NOFILE, &before); }
  ManyDescriptors(const ManyDescriptors&) = delete;
  ManyDescriptors& operator=(const ManyDescriptors&) = delete;
};

void check_served(Http& http, const std::string& token) {
  const json job{{"name", "j"}, {"exec_file", "a.R"}, {"code", "1"}, {"price", 1}, {"submit", true}};
  CHECK(http.get("/healthz").status == 200);
  const auto created = http.send("PUT", "/job/", job, token);
  CHECK(created.status == 201);
  CHECK(http.get("/job/" + created.json().value("id", ""), token).json()["state"] == "queued");
}

// Everything but its end.
std::string beginning(int number) {
  switch (number % 4) {
    case 0:
      return "GET /healthz HTT";
    case 1:
      return "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Half: ";
    case 2:
      return "POST /user/login HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n{\"email\": \"";
    default:
      return "POST /user/login HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n{\"email\": \"";
  }
}

}  // namespace

TEST_CASE("2,000 half requests held open keep nobody else from being served, then or after") {
  const ManyDescriptors many;
  const std::string url = test::market_urls().front();
  Http http{url};
  const std::string token = registered_token(http);
  const auto markets = test::living_markets();
  {
    std::vector<Raw> crowd;
    for (int i = 0; i < 2000; ++i) {
      crowd.emplace_back(url);
      REQUIRE(crowd.back().send(beginning(i)));
    }
    const test::Untouched untouched;
    CHECK(http.get("/healthz").status == 200);
    Http newcomer{url};
    CHECK(newcomer.get("/user/", token).status == 200);
    // All of them go on a little, and still do not end.
    for (auto& one : crowd) CHECK(one.send("x"));
    CHECK(newcomer.get("/user/", token).status == 200);
    for (std::size_t i = 0; i < crowd.size(); i += 100) CHECK_FALSE(crowd[i].ended());
    crowd[0].reset();
  }
  {
    std::vector<Raw> crowd;
    for (int i = 0; i < 2000; ++i) {
      crowd.emplace_back(url);
      REQUIRE(crowd.back().send(beginning(i)));
    }
    check_served(http, token);
    for (std::size_t i = 0; i < crowd.size(); i += 2) crowd[i].reset();
  }
  check_served(http, token);
  CHECK(test::living_markets() == markets);
}

TEST_CASE("a market started with few descriptors takes as many as it may have") {
  const rlimit before = descriptors();
  REQUIRE(before.rlim_max >= 3000);
  const rlimit few{.rlim_cur = 256, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const test::OwnMarket market;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  const ManyDescriptors many;
  std::vector<Raw> crowd;
  for (int i = 0; i < 1000; ++i) crowd.emplace_back(market.url());
  Raw last{market.url()};
  REQUIRE(last.send(test::request_text("GET", "/healthz")));
  CHECK(last.answer().status == 200);
}
