// How many may come, how many may wait, and for how long: each limit at its value and one past it.
#include <doctest/doctest.h>
#include <signal.h>
#include <thread>

#include "core/digest.h"
#include "core/limits.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/metric.h"
#include "tests/support/own_market.h"
#include "tests/support/raw.h"

using namespace remotist;
using namespace std::chrono_literals;
using test::eventually;
using test::OwnMarket;
using test::Raw;
using test::request_text;

namespace {

const std::string kAsk = request_text("GET", "/healthz");

bool is_answered(Raw& connection) {
  return connection.send(kAsk) && connection.answer().status == 200;
}

// A connection that has been answered, and so is counted.
Raw served(const std::string& url, const char* from) {
  Raw connection{url, from};
  REQUIRE(is_answered(connection));
  return connection;
}

bool lets_in(const std::string& url, const char* from) {
  Raw connection{url, from};
  return is_answered(connection);
}

std::string registration(int number) {
  const nlohmann::json body{{"email", "p" + std::to_string(number) + "@example.org"},
                            {"password", "long enough"}};
  return request_text("POST", "/user/register", "Content-Type: application/json\r\n", body.dump());
}

// That many registrations, which reach the market at one moment, each address with its share of them or more.
std::vector<Raw> rush(const OwnMarket& market, int first, int count,
                      std::size_t of_each_address = limits::kPasswordsPerAddressMax) {
  std::vector<Raw> clients;
  market.signal(SIGSTOP);
  for (int i = 0; i < count; ++i) {
    const auto address = "127.0.1." + std::to_string(1 + static_cast<std::size_t>(i) / of_each_address);
    clients.emplace_back(market.url(), address.c_str());
    REQUIRE(clients.back().send(registration(first + i)));
  }
  market.signal(SIGCONT);
  return clients;
}

}  // namespace

TEST_CASE("connections up to the limit are served, one past it is closed, and one that ends makes room") {
  const OwnMarket market{{{"CONNECTIONS_MAX", "8"}}};
  std::vector<Raw> open;
  // The connection that saw the market come up may still be counted for a moment.
  REQUIRE(eventually([&] {
    open.clear();
    for (int i = 0; i < 8; ++i) {
      Raw connection{market.url()};
      if (!is_answered(connection)) return false;
      open.push_back(std::move(connection));
    }
    return true;
  }));
  CHECK_FALSE(lets_in(market.url(), "127.0.0.1"));
  CHECK_FALSE(lets_in(market.url(), "127.0.0.2"));
  for (auto& connection : open) CHECK(is_answered(connection));
  open.pop_back();
  CHECK(eventually([&] { return lets_in(market.url(), "127.0.0.1"); }));
}

TEST_CASE("connections of one address are bounded, those of another are not touched by that") {
  const OwnMarket market{{{"CONNECTIONS_PER_ADDRESS_MAX", "4"}}};
  std::vector<Raw> open;
  for (int i = 0; i < 4; ++i) open.push_back(served(market.url(), "127.0.0.2"));
  for (int i = 0; i < 3; ++i) CHECK_FALSE(lets_in(market.url(), "127.0.0.2"));
  CHECK(lets_in(market.url(), "127.0.0.3"));
  for (auto& connection : open) CHECK(is_answered(connection));
  open.pop_back();
  CHECK(eventually([&] { return lets_in(market.url(), "127.0.0.2"); }));
}

TEST_CASE(
    "a connection that is silent for too long is closed, half a request or none; one that asks is not") {
  const OwnMarket market{{{"IDLE_CONNECTION_SECONDS_MAX", "2"}}};
  Raw silent{market.url()};
  Raw half_head{market.url()};
  Raw half_body{market.url()};
  Raw asking{market.url()};
  REQUIRE(half_head.send("GET /healthz HT"));
  REQUIRE(half_body.send("POST /user/login HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"));
  const auto began = std::chrono::steady_clock::now();
  bool all_ended = false;
  while (!all_ended && std::chrono::steady_clock::now() - began < 20s) {
    CHECK(is_answered(asking));
    if (std::chrono::steady_clock::now() - began < 1s) CHECK_FALSE(silent.ended());
    all_ended = silent.ends(100ms) && half_head.ended() && half_body.ended();
  }
  CHECK(all_ended);
  CHECK(is_answered(asking));
}

TEST_CASE(
    "requests sent without waiting are answered in order up to the limit; one more closes the connection") {
  const std::string url = test::market_urls().front();
  const auto many = [](std::size_t count) {
    std::string text;
    for (std::size_t i = 1; i < count; ++i) text += kAsk;
    return text + request_text("GET", "/last");
  };
  Raw at_limit{url};
  REQUIRE(at_limit.send(many(limits::kPipelinedRequestsMax)));
  for (std::size_t i = 1; i < limits::kPipelinedRequestsMax; ++i) CHECK(at_limit.answer().status == 200);
  CHECK(at_limit.answer().status == 404);
  Raw past{url};
  REQUIRE(past.send(many(limits::kPipelinedRequestsMax + 1)));
  CHECK(past.answer().status == 0);
  CHECK(past.ended());
}

TEST_CASE("passwords beyond the queue's limit are refused with rate_limited") {
  const OwnMarket market;
  constexpr int kMax = limits::kPasswordQueueMax;
  for (auto& client : rush(market, 0, kMax)) CHECK(client.answer(60s).status == 201);
  // Two are being hashed while kMax wait, and may end while the rest arrive.
  auto clients = rush(market, kMax, kMax + 30);
  test::RawAnswer refused;
  REQUIRE(eventually([&] {
    for (auto& client : clients) {
      refused = client.answer(0ms);
      if (refused.status == 429) return true;
    }
    return false;
  }));
  CHECK(refused.code() == "rate_limited");
  CHECK(refused.headers.at("retry-after") == "1");
}

TEST_CASE("passwords beyond the limit of one address are refused with rate_limited") {
  const OwnMarket market;
  constexpr int kMax = limits::kPasswordsPerAddressMax;
  for (auto& client : rush(market, 0, kMax, kMax)) CHECK(client.answer(60s).status == 201);
  int made = 0;
  int refused = 0;
  for (auto& client : rush(market, kMax, 4 * kMax, 4 * kMax)) {
    const auto answer = client.answer(60s);
    made += answer.status == 201;
    refused += answer.code() == "rate_limited";
  }
  CHECK(made >= kMax);
  CHECK(refused > 0);
  CHECK(made + refused == 4 * kMax);
}

TEST_CASE("a request beyond the database queue's limit is refused as busy") {
  constexpr int kMax = 6;
  const OwnMarket market{{{"DATABASE_CONNECTIONS", "1"}, {"DATABASE_QUEUE_MAX", std::to_string(kMax)}}};
  const auto account = test::make_account(market.database_url(), 0);
  const std::string ask = request_text("GET", "/user/", "Authorization: Bearer " + account.token + "\r\n");
  std::vector<Raw> waiting;
  const auto add = [&] {
    waiting.emplace_back(market.url());
    REQUIRE(waiting.back().send(ask));
  };
  {
    const test::LockedTable locked{market.database_url(), "login_token"};
    add();
    // Behind the first the market's own look at the database waits, once.
    REQUIRE(eventually([&] { return test::metric_at(market.url(), "remotist_database_queue") == 1; }));
    for (int queued = 2; queued <= kMax; ++queued) {
      add();
      REQUIRE(eventually([&] { return test::metric_at(market.url(), "remotist_database_queue") == queued; }));
    }
    const auto refused = test::answer_to(market.url(), ask);
    CHECK(refused.status == 503);
    CHECK(refused.code() == "busy");
    CHECK(refused.headers.at("retry-after") == "1");
  }
  for (auto& client : waiting) CHECK(client.answer().status == 200);
  CHECK(test::answer_to(market.url(), ask).status == 200);
}

TEST_CASE("a chunk beyond the chunk queue's limit is refused as busy") {
  const OwnMarket market{{{"CHUNK_THREADS", "1"}, {"CHUNK_QUEUE_MAX", "2"}}};
  const auto account = test::make_account(market.database_url(), 0);
  const std::string put = request_text("PUT", "/blob/" + hex_of(sha256("x")),
                                       "Authorization: Bearer " + account.token + "\r\n", "x");
  std::vector<Raw> waiting;
  {
    const test::LockedTable locked{market.database_url(), "blob_presence"};
    for (int queued = 0; queued <= 2; ++queued) {
      waiting.emplace_back(market.url());
      REQUIRE(waiting.back().send(put));
      REQUIRE(eventually([&] {
        return test::metric_at(market.url(), "remotist_requests_in_flight") ==
               queued + 2;  // and the one that asks
      }));
      REQUIRE(eventually([&] { return test::metric_at(market.url(), "remotist_chunk_queue") == queued; }));
    }
    CHECK(test::answer_to(market.url(), put).code() == "busy");
  }
  for (auto& client : waiting) CHECK(client.answer().status == 204);
}
