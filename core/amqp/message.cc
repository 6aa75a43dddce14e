#include "core/amqp/message.h"

#include <stdexcept>

namespace remotist::amqp {
namespace {

void require_short(const std::string& text, const char* what) {
  if (text.size() <= kShortStringBytesMax) return;
  throw std::length_error{std::string{what} + " is longer than " + std::to_string(kShortStringBytesMax) +
                          " bytes"};
}

}  // namespace

void require_sendable(const Message& message) {
  require_short(message.exchange, "the exchange's name");
  require_short(message.routing_key, "the routing key");
  require_short(message.message_id, "the message id");
  require_short(message.request_id, "the request id");
  if (message.body.size() > kBodyBytesMax) {
    throw std::length_error{"the message is longer than " + std::to_string(kBodyBytesMax) + " bytes"};
  }
}

}  // namespace remotist::amqp
