// What the broker itself does: the facts that Publisher and Consumer are built on.
#include <algorithm>
#include <doctest/doctest.h>
#include <thread>

#include "core/amqp/connection.h"
#include "tests/support/broker.h"
#include "tests/support/eventually.h"

namespace remotist::amqp {

using namespace std::chrono_literals;
namespace broker = test::broker;

namespace {

// The first event of a kind; everything before it is dropped. Fails the test after `timeout`.
template <class Wanted>
Wanted await(Connection& connection, std::chrono::milliseconds timeout = 10s) {
  const auto deadline = Clock::now() + timeout;
  while (Clock::now() < deadline) {
    for (const Event& event : connection.wait(deadline)) {
      if (const auto* wanted = std::get_if<Wanted>(&event)) return *wanted;
    }
  }
  FAIL("the event did not come");
  __builtin_unreachable();
}

}  // namespace

TEST_CASE("amqp: a message arrives as it was sent, whatever its size") {
  const broker::Queue queue{"sizes"};
  Connection connection{broker::address(), {}};
  connection.select_confirms();
  // Around one frame of 128 KiB, and the limit itself.
  for (const std::size_t size : {0uz, 1uz, 131063uz, 131064uz, 131065uz, 262128uz, kBodyBytesMax}) {
    CAPTURE(size);
    std::string body(size, '\0');
    for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i * 31);
    while (!connection.may_publish()) connection.wait(Clock::now() + 10s);
    const auto tag =
        connection.publish({.routing_key = queue.name(), .body = body, .message_id = "m", .request_id = "r"});
    CHECK(await<Confirmed>(connection).tag == tag);
    const auto got = connection.get(queue.name());
    REQUIRE(got);
    CHECK(got->body == body);
    CHECK(got->message_id == "m");
    CHECK(got->request_id == "r");
    CHECK(got->routing_key == queue.name());
    CHECK_FALSE(got->redelivered);
    connection.ack(got->tag);
  }
  CHECK_FALSE(connection.get(queue.name()));
}

TEST_CASE("amqp: an answer finds its call while deliveries and confirms pour in, and none of them is lost") {
  const broker::Queue queue{"calls"};
  Connection connection{broker::address(), {}};
  connection.select_confirms();
  connection.consume(queue.name(), 1000);
  constexpr std::size_t kMessages = 300;
  std::size_t delivered = 0;
  std::size_t confirmed = 0;
  const auto take = [&](const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (std::holds_alternative<Delivered>(event)) ++delivered;
      if (const auto* confirm = std::get_if<Confirmed>(&event))
        confirmed = std::max<std::size_t>(confirmed, confirm->tag);
    }
  };
  for (std::size_t i = 0; i < kMessages; ++i) {
    connection.publish({.routing_key = queue.name(), .body = std::string(1000, 'x')});
    if (i % 10 == 0) connection.declare_quorum_queue(queue.name());
  }
  const auto deadline = Clock::now() + 10s;
  while ((delivered < kMessages || confirmed < kMessages) && Clock::now() < deadline)
    take(connection.wait(deadline));
  CHECK(delivered == kMessages);
  CHECK(confirmed == kMessages);
}

TEST_CASE("amqp: a wrong password, a missing virtual host and a closed port are told apart") {
  Address address = broker::address();
  address.password += "x";
  try {
    const Connection connection{address, {}};
    FAIL("logged in");
  } catch (const ConnectionLost& lost) {
    CHECK(lost.reply_code() == 403);
    CHECK(std::string{lost.what()}.find(address.password) == std::string::npos);
  }
  address = broker::address();
  address.virtual_host = "nowhere";
  try {
    const Connection connection{address, {}};
    FAIL("opened");
  } catch (const ConnectionLost& lost) {
    CHECK(lost.reply_code() == 530);
  }
  address = broker::address();
  address.port = 1;
  CHECK_THROWS_AS((Connection{address, {}}), ConnectionLost);
}

TEST_CASE("amqp: a missing queue and a wrong tag close the channel with the broker's code") {
  try {
    Connection{broker::address(), {}}.get(broker::unique_name("missing"));
    FAIL("found");
  } catch (const ChannelClosed& closed) {
    CHECK(closed.reply_code() == 404);
  }
  Connection connection{broker::address(), {}};
  connection.ack(99);
  try {
    connection.wait(Clock::now() + 10s);
    FAIL("acknowledged");
  } catch (const ChannelClosed& closed) {
    CHECK(closed.reply_code() == 406);
  }
}

TEST_CASE("amqp: a private queue is nobody else's and ends with its connection") {
  const std::string name = broker::unique_name("private");
  {
    Connection owner{broker::address(), {}};
    owner.declare_private_queue(name);
    try {
      Connection{broker::address(), {}}.declare_private_queue(name);
      FAIL("declared");
    } catch (const ChannelClosed& closed) {
      CHECK(closed.reply_code() == 405);
    }
    owner.close();
  }
  Connection other{broker::address(), {}};
  CHECK_NOTHROW(other.declare_private_queue(name));
}

TEST_CASE("amqp: a consumer is notified when its queue is deleted") {
  const broker::Queue queue{"cancelled"};
  Connection connection{broker::address(), {}};
  const std::string tag = connection.consume(queue.name(), 1);
  Connection{broker::address(), {}}.delete_queue(queue.name());
  CHECK(await<ConsumerCancelled>(connection).consumer_tag == tag);
}

TEST_CASE("amqp: a connection that is idle for three heartbeats stays alive") {
  const broker::Queue queue{"idle"};
  Connection connection{broker::address(), {.heartbeat = 1s}};
  const auto end = Clock::now() + 3500ms;
  while (Clock::now() < end) CHECK(connection.wait(end).empty());
  CHECK_FALSE(connection.get(queue.name()));
}

TEST_CASE("amqp: a frozen broker is lost by heartbeat, within three of them, and no call hangs") {
  Connection connection{broker::address(), {.heartbeat = 1s}};
  const broker::Frozen frozen;
  const auto began = Clock::now();
  CHECK_THROWS_AS(while (Clock::now() < began + 20s) connection.wait(began + 20s), ConnectionLost);
  CHECK(Clock::now() - began < 3s);
}

TEST_CASE("amqp: connecting to a frozen broker ends in time") {
  const broker::Frozen frozen;  // the kernel still accepts for it
  const auto began = Clock::now();
  CHECK_THROWS_AS((Connection{broker::address(), {.rpc_timeout = 500ms}}), ConnectionLost);
  CHECK(Clock::now() - began < 2s);
}

TEST_CASE("amqp: a stop ends a wait, a call and a login at once") {
  const broker::Queue queue{"stop"};
  const auto soon = [](Wake& wake) {
    return std::jthread{[&wake] {
      std::this_thread::sleep_for(200ms);
      wake.stop();
    }};
  };
  {
    Wake wake;
    Connection connection{broker::address(), {.wake = &wake}};
    const auto stopper = soon(wake);
    const auto began = Clock::now();
    CHECK(connection.wait(began + 20s).empty());
    CHECK(Clock::now() - began < 1s);
  }
  {
    Wake wake;
    Connection connection{broker::address(), {.wake = &wake}};
    const broker::Frozen frozen;
    const auto stopper = soon(wake);
    const auto began = Clock::now();
    CHECK_THROWS_AS(connection.get(queue.name()), ConnectionLost);
    CHECK(Clock::now() - began < 1s);
  }
  {
    Wake wake;
    const broker::Frozen frozen;
    const auto stopper = soon(wake);
    const auto began = Clock::now();
    CHECK_THROWS_AS((Connection{broker::address(), {.wake = &wake}}), ConnectionLost);
    CHECK(Clock::now() - began < 1s);
  }
}

TEST_CASE("amqp: a message that is requeued a hundred times is not dropped") {
  const broker::Queue queue{"limit"};
  Connection connection{broker::address(), {}};
  connection.select_confirms();
  connection.publish({.routing_key = queue.name(), .body = "x"});
  await<Confirmed>(connection);
  connection.consume(queue.name(), 1);
  for (int delivery = 0; delivery < 100; ++delivery) {
    const auto delivered = await<Delivered>(connection);
    CHECK(delivered.redelivered == (delivery > 0));
    connection.nack(delivered.tag);
  }
  CHECK(await<Delivered>(connection).body == "x");
}

TEST_CASE("amqp: a message whose consumer dies thirty times is not dropped") {
  const broker::Queue queue{"deaths"};
  {
    Connection connection{broker::address(), {}};
    connection.select_confirms();
    connection.publish({.routing_key = queue.name(), .body = "x"});
    await<Confirmed>(connection);
  }
  for (int death = 0; death < 30; ++death) {
    Connection connection{broker::address(), {}};
    connection.consume(queue.name(), 1);
    const auto delivered = await<Delivered>(connection);
    CHECK(delivered.delivery_count == death);
  }
  CHECK(test::eventually([&] { return Connection{broker::address(), {}}.get(queue.name()).has_value(); }));
}

}  // namespace remotist::amqp
