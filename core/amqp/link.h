// A connection that is put back when it is lost: what Publisher and Consumer have in common.
//
// One thread uses it; state() may be read by any. Nothing here gives up: whatever is wrong with the broker,
// the network or the queues, the link tries again at growing intervals until it is stopped.
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

// Declares what must exist before the first message, on every new connection: must be idempotent. May throw
// what Connection throws; the connection is then given up and made again later.
using Topology = std::function<void(Connection&)>;

struct LinkState {
  bool connected = false;
  bool blocked = false;          // the broker takes no messages (memory or disk alarm)
  std::uint64_t reconnects = 0;  // connections made, but for the first
};

class Link {
 public:
  // `wake` must outlive the link and is what stops it; options.wake is ignored.
  Link(Address address, ConnectionOptions options, Backoff::Bounds backoff, Topology topology, Wake& wake);
  ~Link();

  // The connection, made anew if there is none, with pauses between attempts. Null when there is none by the
  // deadline or when stopped; an attempt under way may exceed the deadline by the connection's time-outs.
  Connection* get(Clock::time_point deadline);

  // The connection, or one attempt to make it if that is due. Never waits for the next attempt.
  Connection* get_now();
  Clock::time_point next_attempt() const { return try_at_; }

  // Only what there is.
  Connection* current() { return connection_ ? &*connection_ : nullptr; }

  // Gives the connection up. Logs why.
  void lose(std::string_view why);

  // Requires current(). Waits for events. Nothing when the connection was lost meanwhile, which is then
  // already noted.
  std::optional<std::vector<Event>> wait(Clock::time_point deadline);

  // Says goodbye, see Connection::close().
  void close() noexcept;

  LinkState state() const;

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
