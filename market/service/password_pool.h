// The threads that hash passwords, behind a short queue of which each address has a bounded share: an address
// that floods the market with logins does not keep others from logging in. Thread-safe.
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

  // One of a subscriber's limits::kPasswordsPerAddressMax slots, held from the start of its request until its
  // password is hashed. The pool must outlive it.
  class Slot {
   public:
    Slot(Slot&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), subscriber_(std::move(other.subscriber_)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (pool_ != nullptr) pool_->end(subscriber_);
    }

   private:
    friend class PasswordPool;
    Slot(PasswordPool& pool, std::string subscriber) : pool_(&pool), subscriber_(std::move(subscriber)) {}
    PasswordPool* pool_;
    std::string subscriber_;
  };
  // Empty when this subscriber (subscriber_of()) has no slot left.
  std::optional<Slot> acquire_slot(const std::string& subscriber);

  // False, and the task is not run, when limits::kPasswordQueueMax wait already, or after stop(). The slot is
  // released with the task, whether it ran or not.
  [[nodiscard]] bool try_submit(Slot slot, BoundedPool::Task task);

  std::size_t queued() const { return pool_.queued(); }
  void stop() { pool_.stop(); }
  bool abandon(std::chrono::milliseconds timeout) { return pool_.abandon(timeout); }

 private:
  void end(const std::string& subscriber);

  std::mutex mutex_;
  std::map<std::string, std::size_t> held_;
  BoundedPool pool_;  // last: its tasks give their slots back
};

// The pool and a slot in it, as on_pool() takes them.
struct PasswordSlot {
  PasswordPool& pool;
  PasswordPool::Slot slot;
};

}  // namespace remotist::market
