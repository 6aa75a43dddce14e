// The threads that hash passwords, and the short queue in front of them. Nobody has more than a share of it:
// an address that floods the market with log-ins keeps nobody else from logging in. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "core/bounded_pool.h"

namespace remotist::market {

class PasswordPool {
 public:
  explicit PasswordPool(std::size_t threads);

  // False, and the task is not run, when limits::kPasswordQueueMax wait already, when this subscriber
  // (subscriber_of()) has limits::kPasswordsPerAddressMax that wait or run, or after stop().
  [[nodiscard]] bool try_submit(const std::string& subscriber, BoundedPool::Task task);

  std::size_t queued() const { return pool_.queued(); }
  void stop() { pool_.stop(); }
  bool abandon(std::chrono::milliseconds patience) { return pool_.abandon(patience); }

 private:
  class Turn;
  bool begin(const std::string& subscriber);
  void end(const std::string& subscriber);

  std::mutex mutex_;
  std::map<std::string, std::size_t> held_;
  BoundedPool pool_;  // last: its tasks give their turns back
};

// The pool on behalf of one subscriber, as on_pool() takes it.
struct PasswordShare {
  PasswordPool& pool;
  std::string subscriber;
};

}  // namespace remotist::market
