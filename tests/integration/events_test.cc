// Requests that are held until a job changes.
#include <csignal>
#include <doctest/doctest.h>
#include <future>
#include <pqxx/pqxx>

#include "core/limits.h"
#include "market/service/long_poll.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/metric.h"
#include "tests/support/own_market.h"

using namespace remotist;
using nlohmann::json;
using test::Http;

namespace {

struct Watched {
  std::string url = test::env("REMOTIST_URL");
  std::string database = test::env("REMOTIST_DATABASE_URL");
  test::TestAccount owner = test::make_account(database, 10'000'000);
  Http http{url};
  std::string id =
      http.send("PUT", "/job/",
                {{"name", "j"}, {"exec_file", "m.R"}, {"code", "1"}, {"submit", true}, {"price", 0}},
                owner.token)
          .json()["id"];
  std::string path = "/job/" + id + "/events";

  Watched() = default;
  Watched(std::string market, std::string own_database)
      : url(std::move(market)), database(std::move(own_database)) {}

  test::HttpAnswer events(Http& with, int seen) const {
    return with.call("GET", path, {},
                     {"Authorization: Bearer " + owner.token, "Last-Event-ID: " + std::to_string(seen)});
  }
  // A request on a connection of its own that waits for what comes after `seen`.
  std::future<test::HttpAnswer> held(int seen) const {
    return std::async(std::launch::async, [this, seen] {
      Http own{url};
      return events(own, seen);
    });
  }
  void cancel() {
    CHECK(http.send("POST", "/job/" + id + "/cancel", json::object(), owner.token).status == 200);
  }
  // As another process would.
  void change(const std::string& statement) const {
    pqxx::connection connection{database};
    pqxx::nontransaction{connection}.exec(statement, pqxx::params{id});
  }
};

// How many requests these markets hold now.
double held_at(const std::vector<std::string>& urls) {
  double held = 0;
  for (const auto& url : urls) held += test::metric_at(url, "remotist_requests_held");
  return held;
}

bool are_held(double count = 1) {
  return test::eventually([&] { return held_at(test::market_urls()) >= count; });
}

std::string line_of(const std::string& stream, const std::string& field) {
  const auto at = stream.find(field + ": ");
  if (at == std::string::npos) return "";
  const auto from = at + field.size() + 2;
  return stream.substr(from, stream.find('\n', from) - from);
}

}  // namespace

TEST_CASE("a client that has seen no version is answered at once with the job") {
  Watched job;
  const auto answer = job.http.get(job.path, job.owner.token);
  CHECK(answer.status == 200);
  CHECK(answer.headers.at("content-type") == "text/event-stream");
  CHECK(line_of(answer.body, "event") == "job");
  CHECK(json::parse(line_of(answer.body, "data")) == job.http.get("/job/" + job.id, job.owner.token).json());
  CHECK(answer.body.ends_with("\n\n"));
}

TEST_CASE("a client that has seen the newest version is held until the job changes") {
  Watched job;
  const int seen = std::stoi(line_of(job.http.get(job.path, job.owner.token).body, "id"));
  auto waiting = job.held(seen);
  REQUIRE(are_held());
  job.cancel();
  const auto answer = waiting.get();
  CHECK(json::parse(line_of(answer.body, "data"))["state"] == "cancelled");
  const int last = std::stoi(line_of(answer.body, "id"));
  CHECK(last > seen);
  CHECK(job.events(job.http, last).status == 204);
  CHECK(job.http.get(job.path + "?after=" + std::to_string(last), job.owner.token).status == 204);
}

TEST_CASE("a change by another process is noticed, and so is that the job is gone") {
  Watched job;
  auto waiting = job.held(1);
  REQUIRE(are_held());
  job.change("UPDATE job SET state = 'expired', ended_at = now() WHERE id = $1");
  CHECK(json::parse(line_of(waiting.get().body, "data"))["state"] == "expired");

  Watched second;
  auto on_second = second.held(1);
  REQUIRE(are_held());
  second.change("DELETE FROM job WHERE id = $1");
  CHECK(on_second.get().code() == "not_found");
}

TEST_CASE("a token that is revoked while its request is held sees nothing") {
  Watched job;
  auto waiting = job.held(1);
  REQUIRE(are_held());
  job.change("DELETE FROM login_token WHERE account_id = (SELECT account_id FROM job WHERE id = $1)");
  job.change("UPDATE job SET state = 'expired', ended_at = now() WHERE id = $1");
  CHECK(waiting.get().code() == "unauthenticated");
}

TEST_CASE("an account holds so many requests in a market, and with one more the oldest ends") {
  const test::OwnMarket market;
  Watched job{market.url(), market.database_url()};
  const auto held = [&] { return held_at({market.url()}); };
  constexpr double kMax = limits::kHeldRequestsPerAccountMax;
  std::vector<std::future<test::HttpAnswer>> waiting;
  for (int i = 0; i < kMax; ++i) {
    waiting.push_back(job.held(1));
    REQUIRE(test::eventually([&] { return held() == i + 1; }));
  }
  Watched other{market.url(), market.database_url()};  // somebody else is not in their way
  auto of_other = other.held(1);
  REQUIRE(test::eventually([&] { return held() == kMax + 1; }));
  waiting.push_back(job.held(1));
  CHECK(waiting.front().get().body == ": nothing new\n\n");
  CHECK(held() == kMax + 1);
  waiting.erase(waiting.begin());
  job.cancel();
  for (auto& answer : waiting) CHECK(answer.get().body.find("cancelled") != std::string::npos);
  other.cancel();
  CHECK(of_other.get().status == 200);
  CHECK(test::eventually([&] { return held() == 0; }));
}

TEST_CASE("a request is held for so long, and then ends without an event") {
  const test::OwnMarket market{{{"HELD_SECONDS_MAX", "1"}}};
  Watched job{market.url(), market.database_url()};
  const auto answer = job.events(job.http, 1);
  CHECK(answer.status == 200);
  CHECK(answer.body == ": nothing new\n\n");
  CHECK(held_at({market.url()}) == 0);
}

TEST_CASE("all of a market's held requests together have a limit") {
  Watched job;
  market::LongPoll watch{job.database};
  std::vector<market::LongPoll::Ticket> tickets;
  const auto id = JobId::parse(job.id).value();
  for (std::size_t i = 0; i < limits::kHeldRequestsMax; ++i) {
    const auto ticket = watch.wait_for(AccountId::make(), id, 1, [] {});
    REQUIRE(ticket.has_value());
    tickets.push_back(*ticket);
  }
  CHECK_FALSE(watch.wait_for(AccountId::make(), id, 1, [] {}).has_value());
  watch.cancel(tickets.front());
  CHECK(watch.wait_for(AccountId::make(), id, 1, [] {}).has_value());
}

TEST_CASE("a wrong Last-Event-ID is refused") {
  Watched job;
  for (const char* bad : {"x", "-1", "1.5", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(job.http.get(job.path + "?after=" + bad, job.owner.token).code() == "invalid_field");
  }
}

TEST_CASE("a market that stops answers the held requests") {
  test::OwnMarket market;
  Watched job{market.url(), market.database_url()};
  auto waiting = job.held(1);
  REQUIRE(test::eventually([&] { return held_at({market.url()}) == 1; }));
  market.signal(SIGTERM);
  const auto answer = waiting.get();
  CHECK(answer.status == 200);
  CHECK(answer.body == ": nothing new\n\n");
  CHECK(market.ends());
}
