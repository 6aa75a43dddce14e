// From a committed transaction to a confirmed message, whatever breaks between.
#include "market/store/outbox.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <pqxx/pqxx>

#include "core/amqp/connection.h"
#include "core/amqp/queues.h"
#include "market/service/outbox_publisher.h"
#include "tests/support/broker.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"

using namespace remotist;
using test::Database;
using test::eventually;

namespace {

// Messages to a queue of the test's own, numbered 1 … count.
void fill_outbox(const std::string& url, const std::string& queue, int count) {
  pqxx::connection connection{url};
  pqxx::work tx{connection};
  tx.exec(
      "INSERT INTO outbox (message_id, routing_key, body) SELECT gen_random_uuid(), $1, "
      "jsonb_build_object('n', n) FROM generate_series(1, $2::int) n",
      {queue, count});
  tx.commit();
}

int waiting(const std::string& url) {
  pg::Session db{url};
  return static_cast<int>(market::outbox_depth(db).waiting);
}

// How often each number has arrived.
std::map<int, int> arrivals(const tests::broker::Queue& queue) {
  std::map<int, int> times;
  for (const auto& body : queue.drain()) ++times[nlohmann::json::parse(body)["n"].get<int>()];
  return times;
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
  pg::Session one{database.url()};
  pg::Session two{database.url()};
  const auto first = market::claim_outbox(one, 6, std::chrono::hours{1});
  const auto second = market::claim_outbox(two, 6, std::chrono::milliseconds{1});
  CHECK(first.size() == 6);
  CHECK(second.size() == 4);
  CHECK(std::ranges::is_sorted(first, {}, &market::OutboxMessage::id));
  // The second's claim has run out, the first's has not.
  CHECK(eventually([&] { return market::claim_outbox(one, 10, std::chrono::hours{1}).size() == 4; }));
  market::release_outbox(one, {first[0].id});
  CHECK(market::claim_outbox(two, 10, std::chrono::hours{1}).size() == 1);
  market::delete_outbox(one, {first[0].id});
  CHECK(waiting(database.url()) == 9);
}

TEST_CASE("two publishers carry every message, and each just once when nothing breaks") {
  const Database database;
  const tests::broker::Queue queue{"outbox"};
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
  const tests::broker::Queue queue{"outbox"};
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
  const auto address = tests::broker::address();
  const auto declare_anew = [&] {
    amqp::Connection connection{address, {}};
    connection.delete_queue(amqp::kJobsReady);
    amqp::declare_queues(connection);
  };
  declare_anew();
  test::kill_part("rabbitmq");
  test::bring_up();
  Publisher publisher{database.url()};
  fill_outbox(database.url(), amqp::kJobsReady, 10);
  CHECK(eventually([&] { return waiting(database.url()) == 0; }, std::chrono::seconds{90}));
}

TEST_CASE("a memory alarm of RabbitMQ delays messages and loses none") {
  const Database database;
  const tests::broker::Queue queue{"outbox"};
  Publisher publisher{database.url()};
  REQUIRE(eventually([&] { return publisher.health.broker_up.load(); }));
  {
    const tests::broker::MemoryAlarm alarm;
    fill_outbox(database.url(), queue.name(), 500);
    publisher.publisher.wake();
    CHECK(eventually([&] { return publisher.metrics.broker_blocked.Value() == 1; }));
    CHECK(waiting(database.url()) == 500);
  }
  CHECK(eventually([&] { return waiting(database.url()) == 0; }, std::chrono::seconds{60}));
  CHECK(arrivals(queue).size() == 500);
}
