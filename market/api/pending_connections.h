// Connections that have no machine: they are opening, or were closed and their peers have not ended them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace remotist::market {

// Connections in the order in which they came, at most so many: one more ends the oldest at once. Threads may
// share it. Connection is trantor::TcpConnection.
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
  // Also one that was ended for its age.
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
