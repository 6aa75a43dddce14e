// Requests that are held until a job changes.
#include <csignal>
#include <doctest/doctest.h>
#include <future>
#include <pqxx/pqxx>
#include <thread>

#include "core/limits.h"
#include "market/service/job_watch.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using nlohmann::json;
using test::Http;

namespace {

std::string database() {
  return test::env("REMOTIST_DATABASE_URL");
}

struct Watched {
  test::TestAccount owner = test::make_account(database(), 10'000'000);
  Http http{test::env("REMOTIST_URL")};
  std::string id =
      http.send("PUT", "/job/", {{"name", "j"}, {"exec_file", "m.R"}, {"code", "1"}, {"submit", true}},
                owner.token)
          .json()["id"];
  std::string path = "/job/" + id + "/events";

  test::HttpAnswer events(Http& with, int seen) const {
    return with.call("GET", path, {},
                     {"Authorization: Bearer " + owner.token, "Last-Event-ID: " + std::to_string(seen)});
  }
  // A request on a connection of its own that waits for what comes after `seen`.
  std::future<test::HttpAnswer> held(int seen) const {
    return std::async(std::launch::async, [this, seen] {
      Http own{test::env("REMOTIST_URL")};
      return events(own, seen);
    });
  }
  void cancel() {
    CHECK(http.send("POST", "/job/" + id + "/cancel", json::object(), owner.token).status == 200);
  }
};

// How many requests the market holds now.
double held_now(Http& http) {
  const std::string text = http.get("/metrics").body;
  const std::string name = "\nremotist_requests_held ";
  const auto at = text.find(name);
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + name.size()));
}

bool is_held(Http& http, double count = 1) {
  return test::eventually([&] { return held_now(http) >= count; });
}

std::string line_of(const std::string& stream, const std::string& field) {
  const auto at = stream.find(field + ": ");
  if (at == std::string::npos) return "";
  const auto from = at + field.size() + 2;
  return stream.substr(from, stream.find('\n', from) - from);
}

}  // namespace

TEST_CASE("who has seen nothing is answered at once, with the job as it is") {
  Watched job;
  const auto answer = job.http.get(job.path, job.owner.token);
  CHECK(answer.status == 200);
  CHECK(answer.headers.at("content-type") == "text/event-stream");
  CHECK(line_of(answer.body, "event") == "job");
  CHECK(json::parse(line_of(answer.body, "data")) == job.http.get("/job/" + job.id, job.owner.token).json());
  CHECK(answer.body.ends_with("\n\n"));
}

TEST_CASE("who has seen the newest waits until the job changes, then nothing more comes") {
  Watched job;
  const int seen = std::stoi(line_of(job.http.get(job.path, job.owner.token).body, "id"));
  auto waiting = job.held(seen);
  REQUIRE(is_held(job.http));
  job.cancel();
  const auto answer = waiting.get();
  CHECK(json::parse(line_of(answer.body, "data"))["state"] == "cancelled");
  const int last = std::stoi(line_of(answer.body, "id"));
  CHECK(last > seen);
  CHECK(job.events(job.http, last).status == 204);
  CHECK(job.http.get(job.path + "?after=" + std::to_string(last), job.owner.token).status == 204);
}

TEST_CASE("a change by another process is noticed, and so is the job's end in every sense") {
  Watched job;
  auto waiting = job.held(1);
  REQUIRE(is_held(job.http));
  pqxx::connection connection{database()};
  pqxx::nontransaction tx{connection};
  tx.exec("UPDATE job SET state = 'expired', ended_at = now() WHERE id = $1", pqxx::params{job.id});
  CHECK(json::parse(line_of(waiting.get().body, "data"))["state"] == "expired");

  Watched second;
  auto on_second = second.held(1);
  REQUIRE(is_held(second.http));
  tx.exec("DELETE FROM outbox");
  tx.exec("DELETE FROM job WHERE id = $1", pqxx::params{second.id});
  CHECK(on_second.get().code() == "not_found");
}

TEST_CASE("a token that is revoked while its request is held sees nothing") {
  Watched job;
  auto waiting = job.held(1);
  REQUIRE(is_held(job.http));
  pqxx::connection connection{database()};
  pqxx::nontransaction tx{connection};
  tx.exec("DELETE FROM session_token WHERE account_id = $1", pqxx::params{job.owner.id});
  tx.exec("UPDATE job SET state = 'expired', ended_at = now() WHERE id = $1", pqxx::params{job.id});
  CHECK(waiting.get().code() == "unauthenticated");
}

TEST_CASE("an account holds so many requests, and one more is refused") {
  Watched job;
  std::vector<std::future<test::HttpAnswer>> waiting;
  for (std::size_t i = 0; i < limits::kHeldRequestsPerAccountMax; ++i) waiting.push_back(job.held(1));
  REQUIRE(is_held(job.http, static_cast<double>(limits::kHeldRequestsPerAccountMax)));
  CHECK(job.events(job.http, 1).code() == "rate_limited");
  Watched other;  // somebody else is not in their way
  auto of_other = other.held(1);
  REQUIRE(is_held(job.http, static_cast<double>(limits::kHeldRequestsPerAccountMax) + 1));
  job.cancel();
  for (auto& answer : waiting) CHECK(answer.get().status == 200);
  other.cancel();
  CHECK(of_other.get().status == 200);
  CHECK(test::eventually([&] { return held_now(job.http) == 0; }));
}

TEST_CASE("all of a market's held requests together have a limit") {
  market::JobWatch watch{database()};
  std::vector<market::JobWatch::Ticket> tickets;
  Watched job;
  const auto id = JobId::parse(job.id).value();
  for (std::size_t i = 0; i < limits::kHeldRequestsMax; ++i) {
    const auto ticket = watch.wait_for(AccountId::make(), id, 1, [] {});
    REQUIRE(ticket.has_value());
    tickets.push_back(*ticket);
  }
  CHECK_FALSE(watch.wait_for(AccountId::make(), id, 1, [] {}).has_value());
  watch.forget(tickets.front());
  CHECK(watch.wait_for(AccountId::make(), id, 1, [] {}).has_value());
}

TEST_CASE("a wrong Last-Event-ID is refused") {
  Watched job;
  for (const char* bad : {"x", "-1", "1.5", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(job.http.get(job.path + "?after=" + bad, job.owner.token).code() == "invalid_field");
  }
}

TEST_CASE("a market that stops answers those who wait, and lets them go") {
  Watched job;
  auto waiting = job.held(1);
  REQUIRE(is_held(job.http));
  test::signal_part("market", SIGTERM);
  const auto answer = waiting.get();
  CHECK(answer.status == 200);
  CHECK(answer.body == ": nothing new\n\n");
  CHECK(test::eventually([&] { return job.http.get("/healthz").status == 0; }));
  test::bring_up();
}
