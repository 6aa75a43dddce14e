// Publishes messages and reports the result of each. Reconnects by itself; waits while the broker blocks
// publishers.
//
// Owns one connection, made at the first publish and again when it is lost. One thread calls publish(),
// idle() and renew(); the other functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/amqp/confirms.h"
#include "core/amqp/message.h"
#include "core/amqp/reconnector.h"
#include "core/amqp/wake.h"

namespace remotist::amqp {

struct PublisherOptions {
  ConnectionOptions connection{};
  Backoff::Bounds backoff{};
  // Publishes without an answer at a time. More keeps a distant broker busier and leaves more in doubt when
  // the connection is lost.
  std::size_t unconfirmed_max = 1000;
};

class Publisher {
 public:
  Publisher(const Address& address, const PublisherOptions& options, Topology topology);
  // Requires that no call is under way. Closes the connection, which takes up to a second.
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Publishes each once, in order, and waits for the answers; gives a result for each, in the same order.
  // Returns when all are answered, when what was sent can no longer be answered, at the deadline, or when
  // stopped, and then with PublishResult::unknown for what has no answer (it may never have been sent, have
  // arrived, or arrive later). Nothing is sent twice: whether to publish an unknown one again, and risk a
  // duplicate, is the caller's decision. While it connects it may exceed the deadline by the connection's
  // time-outs.
  //
  // Requires sendable messages (message.h); std::logic_error otherwise, and nothing was sent.
  std::vector<PublishResult> publish(std::span<const Message> messages, Clock::time_point deadline);

  // Keeps the connection alive until the deadline, a nudge or stop(). Without idle() a publisher loses its
  // connection after two heartbeats, and the next publish() makes a new one first: slower, but nothing is
  // lost.
  void idle(Clock::time_point deadline);

  // Drops the connection; the next use makes a new one and declares the queues again. For when a message was
  // returned because a queue was deleted.
  void renew();

  // Thread-safe. Ends the current or the next idle().
  void nudge() noexcept { wake_.nudge(); }
  // Thread-safe. Ends the current call at once and every later one before it starts; cannot be undone.
  void stop() noexcept { wake_.stop(); }
  ConnectionState state() const { return reconnector_.state(); }

 private:
  // One publish() while it runs.
  struct Batch {
    std::span<const Message> messages;
    std::vector<PublishResult> results;
    std::size_t next = 0;                    // the first that was not sent
    std::size_t open = 0;                    // sent on the current connection and not answered
    std::optional<std::uint64_t> first_tag;  // of the first of ours on the current connection
    std::size_t first_index = 0;             // where that one stands in the batch
  };

  void send_what_fits(Connection& connection, Batch& batch);
  void pump(Clock::time_point deadline, Batch& batch);
  void settle(const std::vector<Confirms::Settled>& settled, Batch& batch);
  void forget_connection(Batch& batch);

  const std::size_t unconfirmed_max_;
  Wake wake_;
  Reconnector reconnector_;
  Confirms confirms_;  // of the current connection, including what earlier calls gave up waiting for
};

}  // namespace remotist::amqp
