// From a committed transaction to a confirmed message, whatever breaks between.
#include "core/store/outbox.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <pqxx/pqxx>
#include <set>

#include "core/amqp/connection.h"
#include "core/amqp/queues.h"
#include "core/queue_messages.h"
#include "market/service/outbox_publisher.h"
#include "market/store/jobs.h"
#include "tests/support/broker.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"

using namespace remotist;
using test::Database;
using test::eventually;

namespace {

// Messages to a queue, numbered from `first` on.
void fill_outbox(const std::string& url, const std::string& queue, int count, int first = 1) {
  pqxx::connection connection{url};
  pqxx::work tx{connection};
  tx.exec(
      "INSERT INTO outbox (message_id, routing_key, body) SELECT gen_random_uuid(), $1, "
      "jsonb_build_object('n', n, 'of', $3::text) FROM generate_series($4::int, $4::int + $2::int - 1) n",
      {queue, count, url, first});
  tx.commit();
}

int waiting(const std::string& url) {
  pg::Connection db{url};
  return static_cast<int>(store::outbox_depth(db).waiting);
}

// How often each number has arrived.
std::map<int, int> arrivals(const test::broker::Queue& queue) {
  std::map<int, int> times;
  for (const auto& body : queue.drain()) ++times[nlohmann::json::parse(body)["n"].get<int>()];
  return times;
}

// Whether so many different numbers of this database's arrive in jobs.ready, where others' messages are too;
// takes out everything on the way.
bool arrive_in_jobs_ready(const std::string& url, std::size_t count) {
  const auto deadline = amqp::Clock::now() + std::chrono::seconds{60};
  amqp::Connection connection{test::broker::address(), {}};
  connection.consume(amqp::kJobsReady, 1000);
  std::set<int> numbers;
  while (numbers.size() < count && amqp::Clock::now() < deadline) {
    for (amqp::Event& event : connection.wait(deadline)) {
      const auto* delivered = std::get_if<amqp::Delivered>(&event);
      if (delivered == nullptr) continue;
      connection.ack(delivered->tag);
      const auto body = nlohmann::json::parse(delivered->body);
      if (body.value("of", "") == url) numbers.insert(body["n"].get<int>());
    }
  }
  connection.close();
  return numbers.size() == count;
}

struct Publisher {
  explicit Publisher(const std::string& url)
      : publisher(url, test::env("REMOTIST_AMQP_URL"), metrics, health) {}
  market::Metrics metrics;
  market::Health health;
  market::OutboxPublisher publisher;
};

}  // namespace

TEST_CASE("claims keep publishers apart until they run out") {
  const Database database;
  fill_outbox(database.url(), "x", 10);
  pg::Connection one{database.url()};
  pg::Connection two{database.url()};
  const auto first = store::claim_outbox(one, 6, std::chrono::hours{1});
  const auto second = store::claim_outbox(two, 6, std::chrono::milliseconds{1});
  CHECK(first.messages.size() == 6);
  CHECK(second.messages.size() == 4);
  CHECK(std::ranges::is_sorted(first.messages, {}, &store::OutboxMessage::id));
  // The second's claim has run out, the first's has not.
  store::OutboxClaim third;
  CHECK(eventually([&] {
    third = store::claim_outbox(one, 10, std::chrono::hours{1});
    return third.messages.size() == 4;
  }));
  // Whose claim has passed to another deletes and postpones nothing.
  const std::vector<std::int64_t> taken{third.messages[0].id};
  store::delete_outbox(two, second, taken);
  store::postpone_outbox(two, second, taken);
  CHECK(waiting(database.url()) == 10);
  CHECK(store::claim_outbox(two, 10, std::chrono::hours{1}).messages.empty());
  store::postpone_outbox(one, first, {first.messages[0].id});
  CHECK(eventually([&] { return store::claim_outbox(two, 10, std::chrono::hours{1}).messages.size() == 1; }));
  store::delete_outbox(one, third, taken);
  CHECK(waiting(database.url()) == 9);
}

TEST_CASE("messages that no queue takes do not hold up those behind them") {
  const Database database;
  const test::broker::Queue queue{"outbox"};
  fill_outbox(database.url(), "no.such.queue", 600);
  fill_outbox(database.url(), queue.name(), 10);
  Publisher publisher{database.url()};
  CHECK(eventually([&] { return waiting(database.url()) == 600; }));
  CHECK(arrivals(queue).size() == 10);
}

TEST_CASE("a queue that somebody deleted is declared again, and its messages arrive") {
  const Database database;
  Publisher publisher{database.url()};
  REQUIRE(eventually([&] { return publisher.health.broker_up.load(); }));
  amqp::Connection{test::broker::address(), {}}.delete_queue(amqp::kJobsReady);
  fill_outbox(database.url(), amqp::kJobsReady, 10);
  CHECK(eventually([&] { return waiting(database.url()) == 0; }));
  CHECK(arrive_in_jobs_ready(database.url(), 10));
}

TEST_CASE("two publishers carry every message, and each just once when nothing breaks") {
  const Database database;
  const test::broker::Queue queue{"outbox"};
  fill_outbox(database.url(), queue.name(), 3000);
  {
    Publisher one{database.url()};
    Publisher two{database.url()};
    CHECK(eventually([&] { return waiting(database.url()) == 0; }));
  }
  const auto times = arrivals(queue);
  CHECK(times.size() == 3000);
  CHECK(std::ranges::all_of(times, [](const auto& entry) { return entry.second == 1; }));
}

TEST_CASE("RabbitMQ killed and restarted while the outbox drains: every message arrives") {
  const Database database;
  const test::broker::Queue queue{"outbox"};
  queue.await_on_disk();
  Publisher publisher{database.url()};
  fill_outbox(database.url(), queue.name(), 20'000);
  publisher.publisher.wake();
  REQUIRE(eventually([&] { return waiting(database.url()) < 19'000; }));
  test::kill_part("rabbitmq");
  fill_outbox(database.url(), queue.name(), 20'000);
  test::bring_up();
  CHECK(eventually([&] { return waiting(database.url()) == 0; }, std::chrono::seconds{60}));
  const auto times = arrivals(queue);
  CHECK(times.size() == 20'000);
  CHECK(std::ranges::all_of(times, [](const auto& entry) { return entry.second >= 2; }));
}

TEST_CASE("a queue that RabbitMQ lost in a crash right after its declaration is made anew") {
  const Database database;
  {
    amqp::Connection connection{test::broker::address(), {}};
    connection.delete_queue(amqp::kJobsReady);
    amqp::declare_queues(connection);
  }
  test::kill_part("rabbitmq");
  test::bring_up();
  Publisher publisher{database.url()};
  fill_outbox(database.url(), amqp::kJobsReady, 10);
  CHECK(eventually([&] { return waiting(database.url()) == 0; }, std::chrono::seconds{120}));
  CHECK(arrive_in_jobs_ready(database.url(), 10));
}

TEST_CASE("a broker that stands still for a while loses no queue and no message") {
  const Database database;
  Publisher publisher{database.url()};
  fill_outbox(database.url(), amqp::kJobsReady, 3);
  REQUIRE(eventually([&] { return waiting(database.url()) == 0; }));
  {
    const test::broker::Frozen frozen;
    fill_outbox(database.url(), amqp::kJobsReady, 3, 4);
    publisher.publisher.wake();
    // Longer than a batch may take.
    CHECK_FALSE(eventually([&] { return waiting(database.url()) == 0; }, std::chrono::seconds{12}));
  }
  CHECK(eventually([&] { return waiting(database.url()) == 0; }, std::chrono::seconds{60}));
  CHECK(arrive_in_jobs_ready(database.url(), 6));
}

TEST_CASE("a memory alarm of RabbitMQ delays messages and loses none") {
  const Database database;
  const test::broker::Queue queue{"outbox"};
  Publisher publisher{database.url()};
  REQUIRE(eventually([&] { return publisher.health.broker_up.load(); }));
  {
    const test::broker::MemoryAlarm alarm;
    fill_outbox(database.url(), queue.name(), 500);
    publisher.publisher.wake();
    CHECK(eventually([&] { return publisher.metrics.broker_blocked.Value() == 1; }));
    CHECK(waiting(database.url()) == 500);
  }
  CHECK(eventually([&] { return waiting(database.url()) == 0; }, std::chrono::seconds{60}));
  CHECK(arrivals(queue).size() == 500);
}

TEST_CASE("messages that name one job each go out together, and no job is left out") {
  const Database database;
  std::set<std::string> jobs;
  {
    pqxx::connection connection{database.url()};
    pqxx::work tx{connection};
    for (const auto& [job] : tx.query<std::string>(
             "INSERT INTO outbox (message_id, routing_key, body) SELECT gen_random_uuid(), 'jobs.ready', "
             "jsonb_build_object('jobs', jsonb_build_array(gen_random_uuid())) FROM generate_series(1, 300) "
             "RETURNING body->'jobs'->>0"))
      jobs.insert(job);
    tx.commit();
  }
  amqp::Connection connection{test::broker::address(), {}};
  amqp::declare_queues(connection);
  connection.consume(amqp::kJobsReady, 1000);
  const Publisher publisher{database.url()};
  std::size_t messages = 0;
  const auto deadline = amqp::Clock::now() + std::chrono::seconds{60};
  while (!jobs.empty() && amqp::Clock::now() < deadline) {
    for (amqp::Event& event : connection.wait(deadline)) {
      const auto* delivered = std::get_if<amqp::Delivered>(&event);
      if (delivered == nullptr) continue;
      connection.ack(delivered->tag);
      std::size_t ours = 0;
      for (const std::string job :
           nlohmann::json::parse(delivered->body).value("jobs", nlohmann::json::array()))
        ours += jobs.erase(job);
      if (ours > 0) ++messages;
    }
  }
  CHECK(jobs.empty());
  CHECK(messages <= 3);
  CHECK(eventually([&] { return waiting(database.url()) == 0; }));
}

TEST_CASE("the queries that submit a job write the message that C++ writes") {
  const Database database;
  const auto account = test::make_account(database.url(), 1000);
  pg::Connection db{database.url()};
  pqxx::connection connection{database.url()};
  const auto check_message_of = [&](JobId job) {
    const auto [key, body] = pqxx::nontransaction{connection}.query1<std::string, std::string>(
        "DELETE FROM outbox RETURNING routing_key, body");
    CHECK(key == amqp::kJobsReady);
    CHECK(nlohmann::json::parse(body) == nlohmann::json::parse(queue::text_of(queue::Ready{{job}})));
    const auto ready = queue::read_ready(body);
    REQUIRE(ready.ok());
    CHECK(ready->jobs == std::vector{job});
    CHECK(ready->machine_sessions.empty());
  };
  market::NewJob job;
  job.name = "j";
  job.exec_file = "main.R";
  job.code = "1";
  const auto create = [&](bool submit) {
    job.submit = submit;
    return market::create_job(db, account.token_hash, job, {}, RequestId::make()).value().id;
  };
  check_message_of(create(true));
  const auto uploading = create(false);
  CHECK(waiting(database.url()) == 0);
  REQUIRE(market::submit_job(db, account.token_hash, uploading, RequestId::make()).ok());
  check_message_of(uploading);
}
