#include "market/service/password_pool.h"

#include "core/limits.h"

namespace remotist::market {

PasswordPool::PasswordPool(std::size_t threads) : pool_("passwords", threads, limits::kPasswordQueueMax) {}

std::optional<PasswordPool::Slot> PasswordPool::acquire_slot(const std::string& subscriber) {
  const std::lock_guard lock{mutex_};
  auto& held = held_[subscriber];
  if (held >= limits::kPasswordsPerAddressMax) return std::nullopt;
  ++held;
  return Slot{*this, subscriber};
}

bool PasswordPool::try_submit(Slot slot, BoundedPool::Task task) {
  return pool_.try_submit(
      [slot = std::move(slot), task = std::move(task)](std::size_t thread) mutable { task(thread); });
}

void PasswordPool::end(const std::string& subscriber) {
  const std::lock_guard lock{mutex_};
  const auto found = held_.find(subscriber);
  if (--found->second == 0) held_.erase(found);
}

}  // namespace remotist::market
