#include "market/service/password_pool.h"

#include <utility>

#include "core/limits.h"

namespace remotist::market {

// One place of a subscriber's share; given back with the task, whether it was run or dropped.
class PasswordPool::Turn {
 public:
  Turn(PasswordPool& pool, std::string subscriber) : pool_(&pool), subscriber_(std::move(subscriber)) {}
  Turn(Turn&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), subscriber_(std::move(other.subscriber_)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (pool_ != nullptr) pool_->end(subscriber_);
  }

 private:
  PasswordPool* pool_;
  std::string subscriber_;
};

PasswordPool::PasswordPool(std::size_t threads) : pool_("passwords", threads, limits::kPasswordQueueMax) {}

bool PasswordPool::try_submit(const std::string& subscriber, BoundedPool::Task task) {
  if (!begin(subscriber)) return false;
  return pool_.try_submit(
      [turn = Turn{*this, subscriber}, task = std::move(task)](std::size_t thread) mutable { task(thread); });
}

bool PasswordPool::begin(const std::string& subscriber) {
  const std::lock_guard lock{mutex_};
  auto& held = held_[subscriber];
  if (held >= limits::kPasswordsPerAddressMax) return false;
  ++held;
  return true;
}

void PasswordPool::end(const std::string& subscriber) {
  const std::lock_guard lock{mutex_};
  const auto found = held_.find(subscriber);
  if (--found->second == 0) held_.erase(found);
}

}  // namespace remotist::market
