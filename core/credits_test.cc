#include "core/credits.h"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <random>

using namespace remotist;

TEST_CASE("credits with up to six decimals are exact") {
  CHECK(Credits::from_number(1.5)->micro() == 1'500'000);
  CHECK(Credits::from_number(0.1)->micro() == 100'000);
  CHECK(Credits::from_number(0.000001)->micro() == 1);
  CHECK(Credits::from_number(0)->micro() == 0);
  CHECK(Credits::from_number(1e9)->micro() == Credits::kCreditsMicroMax);
}

TEST_CASE("what is not an amount is refused") {
  for (const double bad : {-1.0, -0.000001, 0.0000001, 1e-300, 1e9 + 1, 1e300, std::nan(""),
                           std::numeric_limits<double>::infinity(), 1.0000005}) {
    CAPTURE(bad);
    CHECK_FALSE(Credits::from_number(bad));
  }
}

TEST_CASE("every amount survives the way through a JSON number") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::uniform_int_distribution<std::int64_t> any{0, Credits::kCreditsMicroMax};
  for (int i = 0; i < 100'000; ++i) {
    const auto amount = Credits::micro(any(random) >> (i % 50));
    REQUIRE(Credits::from_number(amount.number()) == amount);
  }
}
