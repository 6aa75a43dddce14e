#include "core/bounded_pool.h"

#include <atomic>
#include <doctest/doctest.h>
#include <latch>

using namespace remotist;

TEST_CASE("a pool takes as many tasks as its queue holds and refuses one more") {
  std::latch begun{1};
  std::latch release{1};
  std::atomic<int> done = 0;
  BoundedPool pool{"test", 1, 3};
  REQUIRE(pool.try_submit([&](std::size_t) {
    begun.count_down();
    release.wait();
    ++done;
  }));
  begun.wait();
  for (int i = 0; i < 3; ++i) CHECK(pool.try_submit([&](std::size_t) { ++done; }));
  CHECK(pool.queued() == 3);
  CHECK_FALSE(pool.try_submit([&](std::size_t) { ++done; }));
  release.count_down();
  pool.stop();
  CHECK(done == 4);
  CHECK_FALSE(pool.try_submit([&](std::size_t) { ++done; }));
}

TEST_CASE("each thread of a pool runs tasks under its own number") {
  constexpr std::size_t kThreads = 4;
  std::latch all{kThreads};
  std::array<std::atomic<int>, kThreads> runs{};
  BoundedPool pool{"test", kThreads, kThreads};
  for (std::size_t i = 0; i < kThreads; ++i) {
    REQUIRE(pool.try_submit([&](std::size_t thread) {
      ++runs.at(thread);
      all.arrive_and_wait();
    }));
  }
  pool.stop();
  for (const auto& count : runs) CHECK(count == 1);
}

TEST_CASE("stopping a pool runs what was queued") {
  std::atomic<int> done = 0;
  {
    BoundedPool pool{"test", 2, 1000};
    for (int i = 0; i < 1000; ++i) REQUIRE(pool.try_submit([&](std::size_t) { ++done; }));
  }
  CHECK(done == 1000);
}

TEST_CASE("abandoning a pool drops what is queued and waits for what runs, but not for ever") {
  std::latch begun{1};
  std::latch release{1};
  std::atomic<int> done = 0;
  BoundedPool pool{"test", 1, 10};
  REQUIRE(pool.try_submit([&](std::size_t) {
    begun.count_down();
    release.wait();
    ++done;
  }));
  begun.wait();
  for (int i = 0; i < 5; ++i) REQUIRE(pool.try_submit([&](std::size_t) { ++done; }));
  CHECK_FALSE(pool.abandon(std::chrono::milliseconds{1}));
  CHECK(pool.queued() == 0);
  CHECK_FALSE(pool.try_submit([&](std::size_t) { ++done; }));
  release.count_down();
  CHECK(pool.abandon(std::chrono::seconds{30}));
  pool.stop();
  CHECK(done == 1);
}
