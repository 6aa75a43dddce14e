#include "core/checkpoint_schedule.h"

#include <cmath>
#include <cstdlib>
#include <doctest/doctest.h>
#include <limits>
#include <random>

namespace remotist {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr CheckpointIntervalBounds kUnbounded{1, kLargest, 30'000};
constexpr CheckpointIntervalBounds kWide{1, 10'000'000, 30'000};  // a double is exact to far less than 1 ms
constexpr std::int64_t kMinMs = limits::kCheckpointIntervalSecondsMin * 1000;
constexpr std::int64_t kMaxMs = limits::kCheckpointIntervalSecondsMax * 1000;

double closed_form(double cost, double mean) {
  const double part = cost / (2 * mean);
  return std::sqrt(2 * cost * mean) * (1 + std::sqrt(part) / 3 + part / 9) - cost;
}

std::mt19937_64 schedule_random() {
  const char* given = std::getenv("REMOTIST_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  MESSAGE("seed " << seed);
  return std::mt19937_64{seed};
}

// From 1 to 2^62, each size as often; at times one of the ends.
std::int64_t any_ms(std::mt19937_64& random) {
  if (random() % 50 == 0) return random() % 2 == 0 ? 0 : kLargest;
  const auto bits = random() % 62;
  return static_cast<std::int64_t>((std::uint64_t{1} << bits) |
                                   (random() & ((std::uint64_t{1} << bits) - 1)));
}

}  // namespace

TEST_CASE("a checkpoint interval is Daly's optimum of cost and mean time between losses") {
  // 500 ms and a day: sqrt(2 * 500 * 86,400,000) = 293,938.8 ms, less 2/3 of 500, and 0.1 for the last term.
  CHECK(checkpoint_interval_ms(500, 86'400'000) == 293'606);
  CHECK(checkpoint_interval_ms(1'000, 600'000) == std::llround(closed_form(1'000, 600'000)));
  CHECK(checkpoint_interval_ms(60'000, 600'000) == std::llround(closed_form(60'000, 600'000)));
}

TEST_CASE("a checkpoint interval stays within the bounds, and at them it is exact") {
  CHECK(checkpoint_interval_ms(0, 86'400'000) == kMinMs);
  CHECK(checkpoint_interval_ms(kLargest, kLargest) == kMaxMs);
  CHECK(checkpoint_interval_ms(600'000, kLargest) == kMaxMs);
  CHECK(checkpoint_interval_ms(5'000, 1) == kMinMs);
  const auto optimum = checkpoint_interval_ms(1'000, 600'000, kUnbounded);
  CHECK(checkpoint_interval_ms(1'000, 600'000, {1, optimum, 1}) == optimum);
  CHECK(checkpoint_interval_ms(1'000, 600'000, {1, optimum - 1, 1}) == optimum - 1);
  CHECK(checkpoint_interval_ms(1'000, 600'000, {optimum, kLargest, 1}) == optimum);
  CHECK(checkpoint_interval_ms(1'000, 600'000, {optimum + 1, kLargest, 1}) == optimum + 1);
}

TEST_CASE("before a checkpoint was measured, the interval is the first one") {
  CHECK(checkpoint_interval_ms({}, 86'400'000) == limits::kCheckpointIntervalSecondsFirst * 1000);
  CHECK(checkpoint_interval_ms({}, 1, {1, 2, 77}) == 77);
}

TEST_CASE("impossible costs and means give the interval of the nearest possible ones") {
  CHECK(checkpoint_interval_ms(-1, 86'400'000) == checkpoint_interval_ms(0, 86'400'000));
  CHECK(checkpoint_interval_ms(-kLargest, -kLargest) == kMinMs);
  CHECK(checkpoint_interval_ms(2, -5, kUnbounded) == checkpoint_interval_ms(2, 1, kUnbounded));
}

TEST_CASE("a cost of twice the mean or more keeps the interval at 8/9 of the mean") {
  for (const std::int64_t mean : {9'000LL, 90'000LL, 9'000'000'000LL}) {
    CHECK(checkpoint_interval_ms(2 * mean, mean, kUnbounded) == mean / 9 * 8);
    CHECK(checkpoint_interval_ms(100 * mean, mean, kUnbounded) == mean / 9 * 8);
  }
}

TEST_CASE(
    "any checkpoint interval is within bounds, the closed form, and longer for more cost or fewer losses") {
  auto random = schedule_random();
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t cost = any_ms(random);
    const std::int64_t mean = any_ms(random);
    CAPTURE(cost);
    CAPTURE(mean);
    const auto interval = checkpoint_interval_ms(cost, mean);
    CHECK(interval >= kMinMs);
    CHECK(interval <= kMaxMs);

    const auto wide = checkpoint_interval_ms(cost, mean, kWide);
    const double wanted = closed_form(static_cast<double>(cost), static_cast<double>(mean));
    const bool below_twice_the_mean = static_cast<double>(cost) < 2 * static_cast<double>(mean);
    if (below_twice_the_mean && wanted >= 1 && wanted <= 10'000'000) {
      CHECK(std::abs(static_cast<double>(wide) - wanted) <= 0.5 + 1e-6);
    }

    // Compared with the least difference and with any.
    for (const std::int64_t more : {std::int64_t{1}, any_ms(random)}) {
      const std::int64_t costlier = cost > kLargest - more ? kLargest : cost + more;
      const std::int64_t rarer = mean > kLargest - more ? kLargest : mean + more;
      CHECK(checkpoint_interval_ms(costlier, mean, kWide) >= wide);
      CHECK(checkpoint_interval_ms(cost, rarer, kWide) >= wide);
      CHECK(checkpoint_interval_ms(costlier, mean) >= interval);
      CHECK(checkpoint_interval_ms(cost, rarer) >= interval);
    }
  }
}

}  // namespace remotist
