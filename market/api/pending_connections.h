// Connections without a machine: in the handshake, or closed by the market and not yet by the peer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace remotist::market {

// Up to `most` connections in order of arrival: one more closes the oldest at once. Thread-safe. Connection
// is trantor::TcpConnection.
template <class Connection>
class PendingConnections {
 public:
  using Ticket = std::uint64_t;

  explicit PendingConnections(std::size_t most) : most_(most) {}

  Ticket add(const std::shared_ptr<Connection>& connection) {
    std::weak_ptr<Connection> oldest;
    Ticket ticket = 0;
    {
      const std::lock_guard lock{mutex_};
      ticket = ++last_;
      connections_.emplace(ticket, connection);
      if (connections_.size() > most_) oldest = connections_.extract(connections_.begin()).mapped();
    }
    if (const auto ended = oldest.lock()) ended->forceClose();
    return ticket;
  }
  // Also for a connection that was closed as the oldest.
  void remove(Ticket ticket) {
    const std::lock_guard lock{mutex_};
    connections_.erase(ticket);
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  Ticket last_ = 0;
  std::map<Ticket, std::weak_ptr<Connection>> connections_;
};

}  // namespace remotist::market
