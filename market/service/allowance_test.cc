#include "market/service/allowance.h"

#include <doctest/doctest.h>

using namespace remotist::market;
using namespace std::chrono_literals;

TEST_CASE("an allowance has what was saved at first, and then so much a second up to what it saves") {
  Allowance::Time now{};
  Allowance allowance{10, 5, now};
  CHECK_FALSE(allowance.has(51, now));
  REQUIRE(allowance.has(50, now));
  allowance.take(50);
  CHECK_FALSE(allowance.has(1, now));
  now += 200ms;
  CHECK(allowance.has(2, now));
  CHECK_FALSE(allowance.has(3, now));
  now += 1h;
  CHECK(allowance.has(50, now));
  CHECK_FALSE(allowance.has(51, now));
}
