// One connection to the broker with one channel: declares queues, publishes, consumes, and reports events.
//
//   Connection connection{address, {}};
//   connection.declare_quorum_queue("jobs.ready");
//   connection.select_confirms();
//   connection.publish(message);
//   for (const Event& event : connection.wait(deadline)) …
//
// Owns its socket. Not thread-safe: one thread uses it, and calls wait() at least once in a heartbeat, since
// heartbeats are sent and noticed there; only the Wake in its options may be used by other threads. Throws
// ConnectionLost and ChannelClosed (fault.h), after which it can only be destroyed. Publisher and Consumer
// reconnect: use them, except in tests of the broker's own behaviour.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/amqp/address.h"
#include "core/amqp/fault.h"
#include "core/amqp/message.h"
#include "core/amqp/wake.h"

namespace remotist::amqp {

using Clock = std::chrono::steady_clock;

struct ConnectionOptions {
  std::chrono::milliseconds connect_timeout{5000};  // until TCP is up
  std::chrono::milliseconds rpc_timeout{10000};     // each answer of the broker, and the login as a whole
  // From 1 s. A side that is silent for two of these is taken for lost. A shorter one finds a frozen broker
  // sooner; it must exceed the longest time that the thread stays away from wait().
  std::chrono::seconds heartbeat{10};
  std::string name = "remotist";  // shown by `rabbitmqctl list_connections`
  Wake* wake = nullptr;           // ends waits early; must outlive the connection
};

class Connection {
 public:
  // Bytes that wait for a broker that does not read; beyond it may_publish() is false.
  static constexpr std::size_t kUnsentBytesMax = 256 << 10;
  // The most events that one wait() returns; the next one returns the rest.
  static constexpr std::size_t kEventsMax = 1000;

  // Connects, logs in, opens the channel. Throws ConnectionLost.
  Connection(const Address& address, const ConnectionOptions& options);
  // Sends connection.close if the socket takes it at once; see close().
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // --- Queues. Declaring one that exists does nothing; ChannelClosed 406 when it was declared otherwise.

  // Durable and replicated. No delivery limit (the broker's default would silently drop a message after 20
  // deliveries); a consumer may hold a message for `consumer_timeout` (the broker's default: 30 minutes) and
  // up to a minute more, before its channel is closed and the message goes to another. Both are arguments of
  // the queue, so that they hold whatever the broker's configuration says. Of two different time-outs the
  // first declaration's stays, without a 406.
  void declare_quorum_queue(const std::string& queue,
                            std::chrono::milliseconds consumer_timeout = std::chrono::hours{1});
  // A classic queue that only this connection may use and that ends with it. After a lost connection the
  // broker may keep the old one for up to two heartbeats: then this is ChannelClosed 405, and works later.
  void declare_private_queue(const std::string& queue);
  void delete_queue(const std::string& queue);

  // --- Publishing

  // From now on each publish is answered by Confirmed or Refused.
  void select_confirms();
  // False while the broker is under an alarm or does not read as fast as we write; wait() returns when it may
  // be worth asking again.
  bool may_publish() const;
  bool blocked() const;
  // Returns the tag by which the broker will answer: 1, 2, 3 … after select_confirms(), else 0. Sent at the
  // latest by the next wait(). Requires may_publish() and a message within its limits; std::logic_error
  // otherwise, and nothing was sent.
  std::uint64_t publish(const Message& message);

  // --- Consuming

  // Deliveries become events, at most `prefetch` (1 …) of them open at a time. Returns the consumer's tag.
  std::string consume(const std::string& queue, std::uint16_t prefetch);
  // With `multiple` also every earlier delivery that is still open. Sent at the latest by the next wait().
  void ack(std::uint64_t tag, bool multiple = false);
  // With `requeue` it will be delivered again, else it is dropped.
  void nack(std::uint64_t tag, bool multiple = false, bool requeue = true);
  // Gets one message without a consumer, for inspecting a queue. It stays unacknowledged until ack() or
  // nack(), and counts as a delivery.
  std::optional<Delivered> get(const std::string& queue);

  // Waits for events and returns them in order. Empty at the deadline, when woken, and when may_publish() may
  // have become true. A deadline in the past does not wait.
  std::vector<Event> wait(Clock::time_point deadline);

  // Sends connection.close and waits up to a second, woken or not, until the broker has read everything that
  // was sent.
  void close() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace remotist::amqp
