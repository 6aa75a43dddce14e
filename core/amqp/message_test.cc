#include "core/amqp/message.h"

#include <doctest/doctest.h>
#include <stdexcept>

namespace remotist::amqp {

TEST_CASE("a body may have its most bytes and not one more") {
  Message message;
  message.body.assign(kBodyBytesMax, 'x');
  CHECK_NOTHROW(require_sendable(message));
  message.body.push_back('x');
  CHECK_THROWS_AS(require_sendable(message), std::logic_error);
}

TEST_CASE("names and ids may have 255 bytes and not one more") {
  for (auto member :
       {&Message::exchange, &Message::routing_key, &Message::message_id, &Message::request_id}) {
    Message message;
    (message.*member).assign(kShortStringBytesMax, 'x');
    CHECK_NOTHROW(require_sendable(message));
    (message.*member).push_back('x');
    CHECK_THROWS_AS(require_sendable(message), std::logic_error);
  }
}

}  // namespace remotist::amqp
