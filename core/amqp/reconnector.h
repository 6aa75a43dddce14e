// A broker connection that is made again after it was lost. Used by Publisher and Consumer.
//
// One thread uses it; state() is thread-safe. It never gives up: it retries at growing intervals until it is
// stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/amqp/backoff.h"
#include "core/amqp/connection.h"

namespace remotist::amqp {

// Declares the queues that must exist, on every new connection; must be idempotent. When it throws, the
// connection is dropped and made again later.
using Topology = std::function<void(Connection&)>;

struct ConnectionState {
  bool connected = false;
  bool blocked = false;          // the broker takes no messages (memory or disc alarm)
  std::uint64_t reconnects = 0;  // connections made after the first
};

class Reconnector {
 public:
  // `wake` must outlive it, and stops it; options.wake is ignored.
  Reconnector(Address address, ConnectionOptions options, Backoff::Bounds backoff, Topology topology,
              Wake& wake);
  ~Reconnector();

  // The connection, made anew if there is none, with pauses between attempts. Null when there is none by the
  // deadline or when stopped; an attempt under way may exceed the deadline by the connection's time-outs.
  Connection* get(Clock::time_point deadline);

  // The connection, or one attempt to make it if that is due. Never waits for the next attempt.
  Connection* get_now();
  Clock::time_point next_attempt() const { return try_at_; }

  // The connection, or null.
  Connection* current() { return connection_ ? &*connection_ : nullptr; }

  // Drops the connection and logs why.
  void lose(std::string_view why);

  // Requires current(). Waits for events. Empty when the connection was lost meanwhile; it has then been
  // dropped.
  std::optional<std::vector<Event>> wait(Clock::time_point deadline);

  // See Connection::close().
  void close() noexcept;

  ConnectionState state() const;

 private:
  void try_to_connect();

  const Address address_;
  ConnectionOptions options_;
  Backoff backoff_;
  const std::chrono::milliseconds steady_after_;
  const Topology topology_;
  Wake& wake_;
  std::optional<Connection> connection_;
  Clock::time_point connected_at_{};
  Clock::time_point try_at_{};
  std::atomic<bool> connected_{false};
  std::atomic<bool> blocked_{false};
  std::atomic<std::uint64_t> connections_{0};
};

}  // namespace remotist::amqp
