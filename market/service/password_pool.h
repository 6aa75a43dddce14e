// The threads that hash passwords, and the short queue in front of them. Nobody has more than a share of it:
// an address that floods the market with log-ins keeps nobody else from logging in. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/bounded_pool.h"

namespace remotist::market {

class PasswordPool {
 public:
  explicit PasswordPool(std::size_t threads);

  // One of a subscriber's limits::kPasswordsPerAddressMax places, from before its request costs anything
  // until its password is hashed. The pool must outlive it.
  class Turn {
   public:
    Turn(Turn&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), subscriber_(std::move(other.subscriber_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (pool_ != nullptr) pool_->end(subscriber_);
    }

   private:
    friend class PasswordPool;
    Turn(PasswordPool& pool, std::string subscriber) : pool_(&pool), subscriber_(std::move(subscriber)) {}
    PasswordPool* pool_;
    std::string subscriber_;
  };
  // None when this subscriber (subscriber_of()) has all of its places.
  std::optional<Turn> take_turn(const std::string& subscriber);

  // False, and the task is not run, when limits::kPasswordQueueMax wait already, or after stop(). The turn
  // ends with the task, whether it was run or not.
  [[nodiscard]] bool try_submit(Turn turn, BoundedPool::Task task);

  std::size_t queued() const { return pool_.queued(); }
  void stop() { pool_.stop(); }
  bool abandon(std::chrono::milliseconds patience) { return pool_.abandon(patience); }

 private:
  void end(const std::string& subscriber);

  std::mutex mutex_;
  std::map<std::string, std::size_t> held_;
  BoundedPool pool_;  // last: its tasks give their turns back
};

// The pool and a turn in it, as on_pool() takes them.
struct PasswordTurn {
  PasswordPool& pool;
  PasswordPool::Turn turn;
};

}  // namespace remotist::market
