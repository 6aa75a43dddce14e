#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/amqp/consumer.h"
#include "core/amqp/publisher.h"
#include "tests/support/broker.h"
#include "tests/support/eventually.h"

namespace remotist::amqp {

using namespace std::chrono_literals;
namespace broker = test::broker;

namespace {

void fill(const broker::Queue& queue, std::size_t first, std::size_t count) {
  Publisher publisher{broker::address(), {}, {}};
  std::vector<Message> messages;
  for (std::size_t i = first; i < first + count; ++i) {
    messages.push_back({.routing_key = queue.name(), .body = std::to_string(i)});
  }
  const auto results = publisher.publish(messages, Clock::now() + 20s);
  REQUIRE(std::ranges::count(results, PublishResult::confirmed) == static_cast<std::ptrdiff_t>(count));
}

// A consumer on its own thread that counts what it sees.
class RunningConsumer {
 public:
  using Decide = std::function<std::vector<Decision>(std::span<const Delivered>)>;

  RunningConsumer(const std::string& queue, Topology topology, std::uint16_t prefetch, Decide decide)
      : consumer_(broker::address(),
                  {.connection = {.heartbeat = 2s, .name = "remotist-test"},
                   .backoff = {5ms, 50ms},
                   .queue = queue,
                   .prefetch = prefetch},
                  std::move(topology)),
        decide_(std::move(decide)),
        thread_([this](std::stop_token stop) {
          consumer_.run([this](std::span<const Delivered> batch) { return take(batch); }, stop);
        }) {}

  std::chrono::nanoseconds stop() {
    const auto began = Clock::now();
    thread_.request_stop();
    thread_.join();
    return Clock::now() - began;
  }

  ConnectionState state() const { return consumer_.state(); }

  std::map<std::string, int> seen() const {
    const std::lock_guard lock{mutex_};
    return seen_;
  }
  std::size_t different() const { return seen().size(); }
  std::size_t largest() const {
    const std::lock_guard lock{mutex_};
    return largest_;
  }

 private:
  std::vector<Decision> take(std::span<const Delivered> batch) {
    {
      const std::lock_guard lock{mutex_};
      for (const Delivered& delivered : batch) ++seen_[delivered.body];
      largest_ = std::max(largest_, batch.size());
    }
    return decide_(batch);
  }

  Consumer consumer_;
  Decide decide_;
  mutable std::mutex mutex_;
  std::map<std::string, int> seen_;
  std::size_t largest_ = 0;
  std::jthread thread_;
};

std::vector<Decision> ack_all(std::span<const Delivered> batch) {
  return std::vector<Decision>(batch.size(), Decision::ack);
}

}  // namespace

TEST_CASE("amqp: a consumer takes what is there, never more than its prefetch, and leaves nothing behind") {
  const broker::Queue queue{"taken"};
  fill(queue, 0, 1700);
  RunningConsumer running{queue.name(), queue.topology(), 500, ack_all};
  CHECK(test::eventually([&] { return running.different() == 1700; }));
  running.stop();
  CHECK(running.largest() <= 500);
  for (const auto& [body, times] : running.seen()) CHECK(times == 1);
  CHECK(queue.drain().empty());
}

TEST_CASE("amqp: each message of a batch gets its own decision") {
  const broker::Queue queue{"decisions"};
  fill(queue, 0, 100);
  // Every third comes back twice.
  RunningConsumer running{queue.name(), queue.topology(), 100, [](std::span<const Delivered> batch) {
                            std::vector<Decision> decisions;
                            for (const Delivered& delivered : batch) {
                              const bool again =
                                  std::stoi(delivered.body) % 3 == 0 && delivered.delivery_count < 2;
                              decisions.push_back(again ? Decision::requeue : Decision::ack);
                            }
                            return decisions;
                          }};
  const auto right = [&] {
    const auto seen = running.seen();
    return seen.size() == 100 && std::ranges::all_of(seen, [](const auto& each) {
             return each.second == (std::stoi(each.first) % 3 == 0 ? 3 : 1);
           });
  };
  CHECK(test::eventually(right));
  running.stop();
  CHECK(right());
  CHECK(queue.drain().empty());
}

TEST_CASE("amqp: what was not acknowledged before the connection was lost comes again") {
  const broker::Queue queue{"lost"};
  fill(queue, 0, 50);
  std::atomic<bool> cut{false};
  RunningConsumer running{queue.name(), queue.topology(), 50, [&](std::span<const Delivered> batch) {
                            if (!cut.exchange(true)) broker::control({"close_all_connections", "a test"});
                            return ack_all(batch);
                          }};
  CHECK(test::eventually([&] {
    const auto seen = running.seen();
    return seen.size() == 50 && std::ranges::any_of(seen, [](const auto& each) { return each.second > 1; });
  }));
  CHECK(test::eventually([&] { return !Connection{broker::address(), {}}.get(queue.name()); }));
  running.stop();
  CHECK(running.state().reconnects >= 1);
  CHECK(queue.drain().empty());
}

TEST_CASE("amqp: a batch whose handler throws comes again, thirty times if need be") {
  const broker::Queue queue{"thrown"};
  fill(queue, 0, 10);
  std::atomic<int> failures{0};
  RunningConsumer running{queue.name(), queue.topology(), 10, [&](std::span<const Delivered> batch) {
                            if (++failures <= 30) throw std::runtime_error{"a test"};
                            return ack_all(batch);
                          }};
  CHECK(test::eventually([&] { return failures > 30 && running.different() == 10; }));
  CHECK(test::eventually([&] { return !Connection{broker::address(), {}}.get(queue.name()); }));
  running.stop();
  CHECK(queue.drain().empty());
}

TEST_CASE("amqp: a broker killed with -9 delivers every confirmed message in the end") {
  const broker::Queue queue{"restart"};
  fill(queue, 0, 500);
  RunningConsumer running{queue.name(), queue.topology(), 20, ack_all};
  CHECK(test::eventually([&] { return running.different() >= 40; }));
  queue.await_on_disk();
  broker::kill();
  broker::start();
  fill(queue, 500, 500);
  CHECK(test::eventually([&] { return running.different() == 1000; }));
  CHECK(running.state().connected);
  running.stop();
  CHECK(queue.drain().empty());
}

TEST_CASE("amqp: a consumer whose queue is deleted declares it again") {
  const broker::Queue queue{"deleted"};
  RunningConsumer running{queue.name(), queue.topology(), 10, ack_all};
  CHECK(test::eventually([&] { return running.state().connected; }));
  Connection{broker::address(), {}}.delete_queue(queue.name());
  CHECK(test::eventually([&] { return running.state().connected && running.state().reconnects == 1; }));
  fill(queue, 0, 5);
  CHECK(test::eventually([&] { return running.different() == 5; }));
}

TEST_CASE("amqp: what is sent to a private queue returns once its owner is gone") {
  const std::string name = broker::unique_name("market");
  RunningConsumer running{name, [&](Connection& connection) { connection.declare_private_queue(name); }, 10,
                          ack_all};
  CHECK(test::eventually([&] { return running.state().connected; }));
  Publisher publisher{broker::address(), {}, {}};
  const std::vector<Message> messages{{.routing_key = name, .body = "x", .mandatory = true}};
  CHECK(publisher.publish(messages, Clock::now() + 10s) == std::vector{PublishResult::confirmed});
  CHECK(test::eventually([&] { return running.different() == 1; }));
  running.stop();
  CHECK(publisher.publish(messages, Clock::now() + 10s) == std::vector{PublishResult::returned});
}

TEST_CASE("amqp: stop ends a consumer at once, but for the batch in its hands, which it acknowledges") {
  const broker::Queue queue{"stop"};
  {
    RunningConsumer running{queue.name(), queue.topology(), 10, ack_all};
    CHECK(test::eventually([&] { return running.state().connected; }));
    CHECK(running.stop() < 500ms);
  }
  fill(queue, 0, 1);
  std::atomic<bool> in_hand{false};
  RunningConsumer running{queue.name(), queue.topology(), 10, [&](std::span<const Delivered> batch) {
                            in_hand = true;
                            std::this_thread::sleep_for(300ms);
                            return ack_all(batch);
                          }};
  CHECK(test::eventually([&] { return in_hand.load(); }));
  running.stop();
  CHECK(queue.drain().empty());
}

}  // namespace remotist::amqp
