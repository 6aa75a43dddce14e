#include <algorithm>
#include <atomic>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <thread>

#include "core/amqp/publisher.h"
#include "tests/support/broker.h"
#include "tests/support/eventually.h"

namespace remotist::amqp {

using namespace std::chrono_literals;
namespace broker = test::broker;

namespace {

std::vector<Message> messages_to(const std::string& queue, std::size_t first, std::size_t count) {
  std::vector<Message> messages;
  for (std::size_t i = 0; i < count; ++i) {
    messages.push_back({.routing_key = queue, .body = std::to_string(first + i), .mandatory = i % 2 == 0});
  }
  return messages;
}

// Publishes numbered messages until told to end, and keeps account of what was confirmed.
class Account {
 public:
  void publish(Publisher& publisher, const std::string& queue, std::size_t count,
               std::chrono::milliseconds timeout) {
    const auto messages = messages_to(queue, next_, count);
    next_ += count;
    const auto results = publisher.publish(messages, Clock::now() + timeout);
    REQUIRE(results.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      if (results[i] == PublishResult::confirmed) confirmed_.insert(messages[i].body);
      if (results[i] == PublishResult::unknown) ++unknown_;
    }
    confirmed_count_ = confirmed_.size();
  }

  // From another thread.
  std::size_t confirmed_so_far() const { return confirmed_count_; }

  // After the publishing.
  std::size_t unknown() const { return unknown_; }
  std::set<std::string> check_nothing_lost(const broker::Queue& queue) const {
    const auto bodies = queue.drain();
    const std::set<std::string> present{bodies.begin(), bodies.end()};
    CHECK(present.size() >= confirmed_.size());
    CHECK(std::ranges::includes(present, confirmed_));
    return present;
  }

 private:
  std::size_t next_ = 0;
  std::size_t unknown_ = 0;
  std::set<std::string> confirmed_;
  std::atomic<std::size_t> confirmed_count_{0};
};

bool all(const std::vector<PublishResult>& results, PublishResult wanted) {
  return std::ranges::all_of(results, [&](PublishResult result) { return result == wanted; });
}

PublisherOptions quick(std::chrono::seconds heartbeat = 10s) {
  return {.connection = {.heartbeat = heartbeat, .name = "remotist-test"}, .backoff = {10ms, 200ms}};
}

}  // namespace

TEST_CASE("amqp: confirmed messages are in the queue, in their order, also when they exceed the window") {
  const broker::Queue queue{"confirmed"};
  Publisher publisher{broker::address(), quick(), queue.topology()};
  const auto messages = messages_to(queue.name(), 0, 2500);
  CHECK(all(publisher.publish(messages, Clock::now() + 20s), PublishResult::confirmed));
  const auto bodies = queue.drain();
  REQUIRE(bodies.size() == messages.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) CHECK(bodies[i] == messages[i].body);
  CHECK(publisher.state().connected);
  CHECK(publisher.state().reconnects == 0);
}

TEST_CASE("amqp: an unroutable mandatory message is reported as returned, and later publishes still work") {
  const broker::Queue queue{"returned"};
  Publisher publisher{broker::address(), quick(), queue.topology()};
  const std::string nowhere = broker::unique_name("nowhere");
  for (int round = 0; round < 3; ++round) {
    // The same id everywhere: what comes back is told apart by its publish, not by its id.
    const std::vector<Message> messages{
        {.routing_key = queue.name(), .body = "1", .message_id = "same", .mandatory = true},
        {.routing_key = nowhere, .body = "2", .message_id = "same", .mandatory = true},
        {.routing_key = nowhere, .body = "3", .message_id = "same"},
        {.routing_key = queue.name(),
         .body = std::string(200'000, 'x'),
         .message_id = "same",
         .mandatory = true},
        {.routing_key = nowhere, .body = std::string(200'000, 'x'), .message_id = "same", .mandatory = true},
    };
    CHECK(publisher.publish(messages, Clock::now() + 10s) ==
          std::vector{PublishResult::confirmed, PublishResult::returned, PublishResult::confirmed,
                      PublishResult::confirmed, PublishResult::returned});
  }
  CHECK(queue.drain().size() == 6);
  CHECK(publisher.state().reconnects == 0);
}

TEST_CASE("amqp: a message beyond its limits is a mistake of the caller, and none of its batch is sent") {
  const broker::Queue queue{"limits"};
  Publisher publisher{broker::address(), quick(), queue.topology()};
  auto messages = messages_to(queue.name(), 0, 2);
  messages[1].body.assign(kBodyBytesMax + 1, 'x');
  CHECK_THROWS_AS(publisher.publish(messages, Clock::now() + 10s), std::logic_error);
  messages[1].body.pop_back();
  CHECK(all(publisher.publish(messages, Clock::now() + 10s), PublishResult::confirmed));
  CHECK(queue.drain().size() == 2);
}

TEST_CASE("amqp: a broker killed with -9 and started again has every message that was confirmed") {
  const broker::Queue queue{"killed"};
  Publisher publisher{broker::address(), quick(), queue.topology()};
  Account account;
  std::atomic<bool> enough{false};
  std::jthread thread{[&] {
    while (!enough) account.publish(publisher, queue.name(), 50, 200ms);
  }};
  queue.await_on_disk();
  const bool began = test::eventually([&] { return account.confirmed_so_far() >= 500; });
  broker::kill();
  broker::start();
  const std::size_t before = account.confirmed_so_far();
  const bool went_on = test::eventually([&] { return account.confirmed_so_far() >= before + 500; });
  enough = true;
  thread.join();
  CHECK(began);
  CHECK(went_on);
  CHECK(publisher.state().reconnects >= 1);
  CHECK(account.unknown() > 0);
  account.check_nothing_lost(queue);
}

TEST_CASE(
    "amqp: under a memory alarm publish ends at its deadline, then recovers by itself and nothing is lost") {
  const broker::Queue queue{"alarm"};
  Publisher publisher{broker::address(), quick(), queue.topology()};
  Account account;
  account.publish(publisher, queue.name(), 100, 10s);
  CHECK(account.unknown() == 0);
  {
    const broker::MemoryAlarm alarm;
    for (int round = 0; round < 3; ++round) {
      const auto began = Clock::now();
      account.publish(publisher, queue.name(), 100, 500ms);
      CHECK(Clock::now() - began < 2s);
    }
    CHECK(publisher.state().blocked);
    CHECK(publisher.state().connected);
    CHECK(account.unknown() > 0);
  }
  account.publish(publisher, queue.name(), 100, 20s);
  CHECK(account.confirmed_so_far() >= 200);
  CHECK_FALSE(publisher.state().blocked);
  CHECK(publisher.state().reconnects == 0);
  const auto present = account.check_nothing_lost(queue);
  // Once the alarm was known, nothing more was pushed at the broker.
  for (int i = 200; i < 400; ++i) CHECK_FALSE(present.contains(std::to_string(i)));
}

TEST_CASE("amqp: a broker that stops reading cannot make publish hang, whatever the size") {
  const broker::Queue queue{"choked"};
  Publisher publisher{broker::address(), quick(60s), queue.topology()};
  std::vector<Message> messages = messages_to(queue.name(), 0, 40);
  CHECK(all(publisher.publish(messages, Clock::now() + 10s), PublishResult::confirmed));
  for (auto& message : messages) message.body.assign(kBodyBytesMax, 'x');
  {
    const broker::Frozen frozen;
    const auto began = Clock::now();
    CHECK(all(publisher.publish(messages, began + 500ms), PublishResult::unknown));
    CHECK(Clock::now() - began < 2s);
  }
  CHECK(all(publisher.publish(messages, Clock::now() + 20s), PublishResult::confirmed));
}

TEST_CASE("amqp: a frozen broker is given up by heartbeat, and found again") {
  const broker::Queue queue{"frozen"};
  Publisher publisher{broker::address(), quick(1s), queue.topology()};
  const auto messages = messages_to(queue.name(), 0, 10);
  CHECK(all(publisher.publish(messages, Clock::now() + 10s), PublishResult::confirmed));
  {
    const broker::Frozen frozen;
    const auto began = Clock::now();
    CHECK(all(publisher.publish(messages, began + 60s), PublishResult::unknown));
    CHECK(Clock::now() - began < 5s);
    CHECK_FALSE(publisher.state().connected);
  }
  CHECK(all(publisher.publish(messages, Clock::now() + 20s), PublishResult::confirmed));
  CHECK(publisher.state().reconnects == 1);
}

TEST_CASE("amqp: every message has a result although the connection was lost while it was idle") {
  const broker::Queue queue{"died"};
  Publisher publisher{broker::address(), quick(), queue.topology()};
  const auto messages = messages_to(queue.name(), 0, 10);
  CHECK(all(publisher.publish(messages, Clock::now() + 10s), PublishResult::confirmed));
  broker::control({"close_all_connections", "a test"});
  CHECK(all(publisher.publish(messages, Clock::now() + 10s), PublishResult::confirmed));
  CHECK(publisher.state().reconnects == 1);
}

TEST_CASE("amqp: an idle publisher keeps its connection, puts a lost one back, and wakes by a nudge") {
  const broker::Queue queue{"idle"};
  Publisher publisher{broker::address(), quick(1s), queue.topology()};
  publisher.idle(Clock::now() + 3500ms);
  CHECK(publisher.state().connected);
  CHECK(publisher.state().reconnects == 0);

  broker::control({"close_all_connections", "a test"});
  std::jthread thread{[&] { publisher.idle(Clock::now() + 60s); }};
  CHECK(test::eventually([&] { return publisher.state().connected && publisher.state().reconnects == 1; }));
  publisher.nudge();
  const auto began = Clock::now();
  thread.join();
  CHECK(Clock::now() - began < 1s);
  publisher.nudge();
  publisher.idle(Clock::now() + 60s);  // a nudge that came too early is not lost
  CHECK(Clock::now() - began < 1s);
}

TEST_CASE(
    "amqp: stop ends a publish that waits for a connection, for an answer, or for the end of an alarm") {
  const broker::Queue queue{"stop"};
  const auto messages = messages_to(queue.name(), 0, 10);
  const auto stopped_within = [&](Publisher& publisher) {
    std::jthread thread{[&] { publisher.publish(messages, Clock::now() + 60s); }};
    std::this_thread::sleep_for(200ms);  // into the wait; a shorter one would only make the test weaker
    const auto began = Clock::now();
    publisher.stop();
    thread.join();
    return Clock::now() - began;
  };
  {
    Address nobody = broker::address();
    nobody.port = 1;
    Publisher publisher{nobody, {}, {}};
    CHECK(stopped_within(publisher) < 100ms);
    CHECK(all(publisher.publish(messages, Clock::now() + 60s), PublishResult::unknown));
  }
  {
    Publisher publisher{broker::address(), quick(), queue.topology()};
    publisher.idle(Clock::now() + 200ms);
    const broker::Frozen frozen;
    CHECK(stopped_within(publisher) < 100ms);
  }
  {
    const broker::MemoryAlarm alarm;
    Publisher publisher{broker::address(), quick(), queue.topology()};
    CHECK(stopped_within(publisher) < 100ms);
  }
}

}  // namespace remotist::amqp
