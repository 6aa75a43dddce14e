// Messages to publish, and the events that a broker sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "core/queue_names.h"

namespace remotist::amqp {

// AMQP's own bound on names and ids: exchange, routing key, queue, message id, request id.
inline constexpr std::size_t kShortStringBytesMax = 255;

struct Message {
  std::string exchange{};  // empty: the default exchange, which takes the routing key as the name of a queue
  std::string routing_key{};
  std::string body{};  // at most kBodyBytesMax
  std::string message_id{};
  std::string request_id{};  // AMQP's correlation-id
  bool persistent = true;    // survives a restart of the broker, in a queue that does
  bool mandatory = false;    // comes back (Returned) when no queue takes it, instead of vanishing
};

// Throws std::logic_error that names the limit.
void require_sendable(const Message& message);

// The broker has taken responsibility for a publish: every queue that it was routed to has stored it.
struct Confirmed {
  std::uint64_t tag;
  bool multiple;  // and for every earlier one that is still open
};

// The broker could not take responsibility. Also `multiple`.
struct Refused {
  std::uint64_t tag;
  bool multiple;
};

// A mandatory message had no queue to go to. Its Confirmed follows.
struct Returned {
  std::uint64_t tag;  // of the publish; 0 without confirms
  std::string message_id;
  std::string routing_key;
  std::string reply_text;
  int reply_code;
};

struct Delivered {
  std::uint64_t tag;            // valid on this connection only
  bool redelivered;             // somebody was given it before
  std::int64_t delivery_count;  // how often, as far as the queue counts (quorum queues do)
  std::string routing_key;
  std::string body;
  std::string message_id;
  std::string request_id;
};

// Memory or disc alarm: the broker reads nothing more from this connection until Unblocked.
struct Blocked {
  std::string reason;
};
struct Unblocked {};

// The broker has ended a consumer, as it does when its queue is deleted.
struct ConsumerCancelled {
  std::string consumer_tag;
};

using Event = std::variant<Confirmed, Refused, Returned, Delivered, Blocked, Unblocked, ConsumerCancelled>;

}  // namespace remotist::amqp
