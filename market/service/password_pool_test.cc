#include "market/service/password_pool.h"

#include <doctest/doctest.h>
#include <latch>

#include "core/limits.h"

using namespace remotist;
using namespace remotist::market;

TEST_CASE("a subscriber has its share of the password queue and no more, and others find room") {
  std::latch release{1};
  std::latch done{limits::kPasswordsPerAddressMax};
  {
    PasswordPool pool{1};
    for (std::size_t i = 0; i < limits::kPasswordsPerAddressMax; ++i) {
      CHECK(pool.try_submit("192.0.2.1", [&](std::size_t) {
        release.wait();
        done.count_down();
      }));
    }
    CHECK_FALSE(pool.try_submit("192.0.2.1", [](std::size_t) {}));
    CHECK(pool.try_submit("192.0.2.2", [](std::size_t) {}));
    release.count_down();
    done.wait();
    // Places come back as tasks end.
    bool ran = false;
    while (!pool.try_submit("192.0.2.1", [&](std::size_t) { ran = true; })) std::this_thread::yield();
    pool.stop();
    CHECK(ran);
  }
}

TEST_CASE(
    "the password queue is bounded for all subscribers together, and dropped tasks give their places back") {
  std::latch begun{1};
  std::latch release{1};
  PasswordPool pool{1};
  REQUIRE(pool.try_submit("first", [&](std::size_t) {
    begun.count_down();
    release.wait();
  }));
  begun.wait();
  for (std::size_t i = 0; i < limits::kPasswordQueueMax; ++i)
    CHECK(pool.try_submit(std::to_string(i), [](std::size_t) {}));
  CHECK_FALSE(pool.try_submit("one more", [](std::size_t) {}));
  CHECK(pool.queued() == limits::kPasswordQueueMax);
  release.count_down();
}
