#include "market/service/ack_windows.h"

#include <doctest/doctest.h>

#include "core/limits.h"

using namespace remotist;
using namespace remotist::market;

TEST_CASE("messages are acknowledged in their order, whatever the order in which they are done") {
  Inbound inbound;
  for (int number = 1; number <= 3; ++number) REQUIRE(inbound.begin(number, 10));
  inbound.done(2);
  CHECK(inbound.acknowledged() == 0);
  inbound.done(1);
  CHECK(inbound.acknowledged() == 2);
  inbound.done(3);
  CHECK(inbound.acknowledged() == 3);
}

TEST_CASE("a number that is not the next one is refused") {
  Inbound inbound;
  CHECK(!inbound.begin(2, 1));
  CHECK(inbound.begin(1, 1));
  CHECK(!inbound.begin(1, 1));
}

TEST_CASE("so many messages and bytes may be open, and not one more") {
  Inbound many;
  for (std::size_t i = 1; i <= limits::kUnackedMessagesMax; ++i)
    REQUIRE(many.begin(static_cast<std::int64_t>(i), 1));
  CHECK(!many.begin(limits::kUnackedMessagesMax + 1, 1));
  many.done(1);
  CHECK(many.begin(limits::kUnackedMessagesMax + 1, 1));

  Inbound large;
  CHECK(large.begin(1, limits::kUnackedBytesMax - 1));
  CHECK(large.begin(2, 1));
  CHECK(!large.begin(3, 1));
  large.done(1);
  CHECK(large.begin(3, limits::kUnackedBytesMax - 1));
  CHECK(!large.begin(4, 1));
}

TEST_CASE("what is sent counts until it is acknowledged") {
  Outbound outbound;
  CHECK(outbound.next() == 1);
  for (std::size_t i = 0; i < limits::kUnackedMessagesMax; ++i) {
    REQUIRE(outbound.open());
    outbound.send(1);
  }
  CHECK(!outbound.open());
  CHECK(!outbound.acknowledge(limits::kUnackedMessagesMax + 1));
  CHECK(outbound.acknowledge(1));
  CHECK(outbound.open());
  CHECK(outbound.acknowledge(0));  // an old one says nothing new
  CHECK(outbound.unacknowledged() == limits::kUnackedMessagesMax - 1);

  Outbound large;
  large.send(limits::kUnackedBytesMax);
  CHECK(!large.open());
  CHECK(large.acknowledge(1));
  CHECK(large.open());
}
