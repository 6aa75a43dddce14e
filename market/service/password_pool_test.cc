#include "market/service/password_pool.h"

#include <doctest/doctest.h>
#include <latch>
#include <vector>

#include "core/limits.h"

using namespace remotist;
using namespace remotist::market;

namespace {

bool submit(PasswordPool& pool, const std::string& subscriber, BoundedPool::Task task) {
  auto slot = pool.acquire_slot(subscriber);
  return slot && pool.try_submit(std::move(*slot), std::move(task));
}

}  // namespace

TEST_CASE("a subscriber has its share of the password queue and no more, and others find room") {
  PasswordPool pool{1};
  std::vector<PasswordPool::Slot> slots;
  for (std::size_t i = 0; i < limits::kPasswordsPerAddressMax; ++i) {
    auto slot = pool.acquire_slot("192.0.2.1");
    REQUIRE(slot);
    slots.push_back(std::move(*slot));
  }
  CHECK_FALSE(pool.acquire_slot("192.0.2.1"));
  CHECK(pool.acquire_slot("192.0.2.2"));
  slots.pop_back();
  std::latch begun{1};
  std::latch release{1};
  CHECK(submit(pool, "192.0.2.1", [&](std::size_t) {
    begun.count_down();
    release.wait();
  }));
  begun.wait();
  // Also while it is hashed.
  CHECK_FALSE(pool.acquire_slot("192.0.2.1"));
  release.count_down();
  pool.stop();
  CHECK(pool.acquire_slot("192.0.2.1"));
}

TEST_CASE(
    "the password queue is bounded for all subscribers together, and dropped tasks give their places back") {
  std::latch begun{1};
  std::latch release{1};
  PasswordPool pool{1};
  REQUIRE(submit(pool, "first", [&](std::size_t) {
    begun.count_down();
    release.wait();
  }));
  begun.wait();
  for (std::size_t i = 0; i < limits::kPasswordQueueMax; ++i)
    CHECK(submit(pool, std::to_string(i), [](std::size_t) {}));
  CHECK_FALSE(submit(pool, "one more", [](std::size_t) {}));
  CHECK(pool.queued() == limits::kPasswordQueueMax);
  std::vector<PasswordPool::Slot> slots;
  for (std::size_t i = 1; i < limits::kPasswordsPerAddressMax; ++i) slots.push_back(*pool.acquire_slot("0"));
  CHECK_FALSE(pool.acquire_slot("0"));
  CHECK_FALSE(pool.abandon(std::chrono::milliseconds{0}));
  CHECK(pool.acquire_slot("0"));
  release.count_down();
}
