#include "core/ack_window.h"

#include <doctest/doctest.h>

using namespace remotist;

TEST_CASE("messages are acknowledged in their order, whatever the order in which they are processed") {
  ReceiveWindow received;
  for (int number = 1; number <= 3; ++number) REQUIRE(received.begin(number, 10));
  received.done(2);
  CHECK(received.acknowledged() == 0);
  received.done(1);
  CHECK(received.acknowledged() == 2);
  received.done(3);
  CHECK(received.acknowledged() == 3);
}

TEST_CASE("a message whose number is not the next one is refused") {
  ReceiveWindow received;
  CHECK(!received.begin(2, 1));
  CHECK(received.begin(1, 1));
  CHECK(!received.begin(1, 1));
}

TEST_CASE("a receive window takes messages and bytes up to the limits, and not one more") {
  ReceiveWindow many;
  for (std::size_t i = 1; i <= limits::kUnackedMessagesMax; ++i)
    REQUIRE(many.begin(static_cast<std::int64_t>(i), 1));
  CHECK(!many.begin(limits::kUnackedMessagesMax + 1, 1));
  many.done(1);
  CHECK(many.begin(limits::kUnackedMessagesMax + 1, 1));

  ReceiveWindow large;
  CHECK(large.begin(1, limits::kUnackedBytesMax - 1));
  CHECK(large.begin(2, 1));
  CHECK(!large.begin(3, 1));
  large.done(1);
  CHECK(large.begin(3, limits::kUnackedBytesMax - 1));
  CHECK(!large.begin(4, 1));
}

TEST_CASE("a send window takes 64 messages, and the next when one is acknowledged") {
  SendWindow<int> sent;
  CHECK(sent.next_number() == 1);
  for (std::size_t i = 0; i < limits::kUnackedMessagesMax; ++i) {
    REQUIRE(sent.has_room(10));
    sent.add(1, 10);
  }
  CHECK_FALSE(sent.is_open());
  CHECK_FALSE(sent.has_room(1));
  CHECK(sent.room_bytes() == 0);
  CHECK(sent.acknowledge(1).size() == 1);
  CHECK(sent.has_room(10));
  CHECK(sent.next_number() == 65);
  CHECK(sent.unacknowledged() == limits::kUnackedMessagesMax - 1);
}

TEST_CASE("a send window has room for 256 KiB and not a byte more") {
  SendWindow<int> sent;
  sent.add(1, 1000);
  CHECK(sent.has_room(limits::kUnackedBytesMax - 1000));
  CHECK_FALSE(sent.has_room(limits::kUnackedBytesMax - 999));
  sent.add(2, limits::kUnackedBytesMax);
  CHECK(sent.room_bytes() == 0);
  CHECK_FALSE(sent.is_open());
  CHECK(sent.acknowledge(1) == std::vector{1});
  CHECK_FALSE(sent.is_open());
  CHECK(sent.acknowledge(2) == std::vector{2});
  CHECK(sent.room_bytes() == limits::kUnackedBytesMax);
}

TEST_CASE("an acknowledgement removes everything up to it, once") {
  SendWindow<int> sent;
  for (int i = 1; i <= 5; ++i) sent.add(i, 10);
  CHECK(sent.acknowledge(3) == std::vector{1, 2, 3});
  CHECK(sent.acknowledge(3).empty());
  CHECK(sent.acknowledge(2).empty());
  CHECK(sent.unacknowledged() == 2);
  CHECK(sent.room_bytes() == limits::kUnackedBytesMax - 20);
  CHECK(sent.was_sent(5));
  CHECK_FALSE(sent.was_sent(6));
  CHECK(sent.acknowledge(6).size() == 2);
  CHECK(sent.next_number() == 6);
}

TEST_CASE("only unacknowledged messages are found and changed") {
  SendWindow<int> sent;
  for (int i = 1; i <= 3; ++i) sent.add(i, 10);
  (void)sent.acknowledge(1);
  CHECK(sent.find(1) == nullptr);
  REQUIRE(sent.find(2) != nullptr);
  CHECK(*sent.find(2) == 2);
  CHECK(sent.find(4) == nullptr);
  sent.for_each([](int& note) { note *= 10; });
  CHECK(sent.acknowledge(3) == std::vector{20, 30});
}
