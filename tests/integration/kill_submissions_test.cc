// Two thousand submissions, and in their middle something is killed. Whatever it is: what was acknowledged is
// there once, its message reaches the workers' queue, and not a credit is missing.
#include <atomic>
#include <doctest/doctest.h>
#include <map>
#include <pqxx/pqxx>
#include <set>
#include <thread>

#include "core/amqp/queues.h"
#include "market/store/ledger.h"
#include "tests/support/broker.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using namespace std::chrono_literals;
using nlohmann::json;
using test::eventually;
using test::Http;

namespace {

constexpr int kClients = 32;
constexpr int kJobsEach = 63;  // 2,016 in all
constexpr double kPrice = 1.25;
constexpr auto kGiveUp = 90s;

struct Submitter {
  std::string account;
  std::string token;
  bool retries = false;
  std::map<std::string, std::string> acknowledged;  // the job's name -> its id
  int unanswered = 0;                               // submissions that never got their 201

  // One request for each job; the half that retries sends it again, with its key, until it is acknowledged.
  void submit_all(std::atomic<int>& total, const std::atomic<bool>& give_up) {
    Http http{test::env("REMOTIST_URL")};
    for (int i = 0; i < kJobsEach && !give_up; ++i) {
      const std::string name = account + "/" + std::to_string(i);
      const json job{
          {"name", name}, {"exec_file", "a.R"}, {"code", "x <- 1"}, {"price", kPrice}, {"submit", true}};
      const std::vector<std::string> key{"Idempotency-Key: " + name};
      bool done = false;
      do {
        const auto answer = http.send("PUT", "/job/", job, token, key);
        done = answer.status == 201;
        if (done) acknowledged[name] = answer.json()["id"];
        if (!done) std::this_thread::sleep_for(50ms);
      } while (!done && retries && !give_up);
      if (!done) ++unanswered;
      ++total;
    }
  }
};

std::vector<Submitter> new_clients() {
  std::vector<Submitter> clients(kClients);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const auto account = test::make_account(test::env("REMOTIST_DATABASE_URL"), 100'000'000);
    clients[i].account = account.id;
    clients[i].token = account.token;
    clients[i].retries = i % 2 == 0;
  }
  return clients;
}

// All submit at once; when a third of it is done, `strike`, which must bring back what it takes away.
template <class Strike>
std::vector<Submitter> submissions_struck_by(Strike strike) {
  auto clients = new_clients();
  std::atomic<int> total = 0;
  std::atomic<bool> give_up = false;
  {
    std::vector<std::jthread> threads;
    for (auto& client : clients) threads.emplace_back([&] { client.submit_all(total, give_up); });
    const bool begun = eventually([&] { return total > kClients * kJobsEach / 3; }, kGiveUp);
    CHECK(begun);
    strike();
    const bool ended = eventually([&] { return total == kClients * kJobsEach; }, kGiveUp);
    CHECK(ended);
    give_up = true;
  }
  return clients;
}

// Every name that the clients used, with the ids of its jobs.
std::map<std::string, std::vector<std::string>> jobs_by_name(const std::vector<Submitter>& clients) {
  pqxx::connection connection{test::env("REMOTIST_DATABASE_URL")};
  pqxx::read_transaction tx{connection};
  std::map<std::string, std::vector<std::string>> jobs;
  for (const auto& client : clients) {
    for (const auto& [name, id] : tx.query<std::string, std::string>(
             "SELECT name, id FROM job WHERE account_id = $1 AND state = 'queued'",
             pqxx::params{client.account}))
      jobs[name].push_back(id);
  }
  return jobs;
}

void check_jobs(const std::vector<Submitter>& clients) {
  const auto jobs = jobs_by_name(clients);
  std::size_t acknowledged = 0;
  int doubled = 0;
  int lost = 0;
  for (const auto& [name, ids] : jobs) doubled += ids.size() > 1 ? 1 : 0;
  for (const auto& client : clients) {
    acknowledged += client.acknowledged.size();
    if (client.retries) CHECK(client.acknowledged.size() == kJobsEach);
    for (const auto& [name, id] : client.acknowledged) {
      const auto found = jobs.find(name);
      if (found == jobs.end() || found->second != std::vector{id}) ++lost;
    }
  }
  CHECK(doubled == 0);
  CHECK(lost == 0);
  // Most were acknowledged at once, or the test would say little.
  CHECK(acknowledged > kClients * kJobsEach / 2);
  MESSAGE(acknowledged << " of " << kClients * kJobsEach << " acknowledged, " << jobs.size() << " made");
}

void check_credits(const std::vector<Submitter>& clients) {
  const auto jobs = jobs_by_name(clients);
  Http http{test::env("REMOTIST_URL")};
  for (const auto& client : clients) {
    std::size_t made = 0;
    for (const auto& [name, ids] : jobs) made += name.starts_with(client.account + "/") ? ids.size() : 0;
    const auto shown = http.get("/user/", client.token).json();
    CHECK(shown["held"] == static_cast<double>(made) * kPrice);
    CHECK(shown["balance"] == 100 - static_cast<double>(made) * kPrice);
  }
  pg::Connection db{test::env("REMOTIST_DATABASE_URL")};
  for (const auto& invariant : market::audit_ledger(db)) {
    CAPTURE(invariant.name);
    CHECK_FALSE(invariant.broken_by.has_value());
  }
  test::check_ledger(test::env("REMOTIST_DATABASE_URL"));
}

// Takes messages out of the queue until each acknowledged job has been seen; those of others are dropped.
void check_messages(const std::vector<Submitter>& clients) {
  std::set<std::string> missing;
  for (const auto& client : clients) {
    for (const auto& [name, id] : client.acknowledged) missing.insert(id);
  }
  const auto deadline = amqp::Clock::now() + 60s;
  amqp::Connection connection{test::broker::address(), {}};
  amqp::declare_queues(connection);
  connection.consume(amqp::kJobsReady, 1000);
  while (!missing.empty() && amqp::Clock::now() < deadline) {
    for (amqp::Event& event : connection.wait(deadline)) {
      auto* delivered = std::get_if<amqp::Delivered>(&event);
      if (delivered == nullptr) continue;
      connection.ack(delivered->tag);
      const auto body = json::parse(delivered->body);
      missing.erase(body.value("job", ""));
      for (const std::string id : body.value("jobs", json::array())) missing.erase(id);
    }
  }
  connection.close();
  CHECK(missing.size() == 0);
}

void check_all(const std::vector<Submitter>& clients) {
  check_jobs(clients);
  check_credits(clients);
  check_messages(clients);
}

}  // namespace

TEST_CASE(
    "every market killed in the middle of 2,000 submissions: nothing acknowledged is lost, nothing is there "
    "twice") {
  test::broker::await_on_disk(std::string{amqp::kJobsReady});
  check_all(submissions_struck_by([] {
    test::kill_markets();
    test::bring_up();
  }));
}

TEST_CASE(
    "RabbitMQ killed in the middle of 2,000 submissions: nothing acknowledged is lost, nothing is there "
    "twice") {
  test::broker::await_on_disk(std::string{amqp::kJobsReady});
  const auto clients = submissions_struck_by([] {
    test::broker::kill();
    test::broker::start();
  });
  // Nobody who submits notices.
  for (const auto& client : clients) CHECK(client.unanswered == 0);
  check_all(clients);
}

TEST_CASE(
    "RabbitMQ killed and wiped in the middle of 2,000 submissions: nothing acknowledged is lost, nothing is "
    "there twice") {
  const auto clients = submissions_struck_by([] {
    test::broker::kill();
    test::broker::wipe();
    test::broker::start();
  });
  for (const auto& client : clients) CHECK(client.unanswered == 0);
  // What became of messages that it knew is another question: a worker's scan needs none.
  check_jobs(clients);
  check_credits(clients);
}

TEST_CASE(
    "PostgreSQL killed in the middle of 2,000 submissions: nothing acknowledged is lost, nothing is there "
    "twice") {
  test::broker::await_on_disk(std::string{amqp::kJobsReady});
  check_all(submissions_struck_by([] {
    test::kill_part("postgres");
    test::bring_up();
  }));
}
