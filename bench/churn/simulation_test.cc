#include "bench/churn/simulation.h"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <initializer_list>
#include <numeric>
#include <string>

#include "bench/churn/expectation.h"
#include "bench/churn/figures.h"

namespace remotist::churn {
namespace {

constexpr Size kSmall{.jobs = 4'000};
constexpr std::uint64_t kSeed = 1;

void check_against_closed_form(const std::string& name, const Scheme& scheme, const Failures& failing) {
  CAPTURE(name);
  CAPTURE(failing.recover);
  CAPTURE(failing.mean_ms);
  const auto found = simulate(scheme, failing, kWorkMs, kSmall, kSeed);
  const double wanted = expected_turnaround_ms(scheme, failing, kWorkMs);
  CHECK(found.mean_ms == doctest::Approx(wanted).epsilon(0.05));
  CHECK(std::abs(found.mean_ms - wanted) < 4 * found.standard_error_ms);
  CHECK(found.waits == 0);
}

}  // namespace

TEST_CASE("a simulation with a fixed seed is within 5 % of the closed form") {
  for (const bool recover : {false, true}) {
    for (const double failures_in_interval : {0.3, 1.0}) {
      const auto failing = failures(failures_in_interval, recover);
      if (recover || failures_in_interval < 1) {
        check_against_closed_form("private", private_checkpoints(), failing);
      }
      check_against_closed_form("shared", shared_checkpoints(0.5), failing);
      check_against_closed_form("market, T = 10", market_checkpoints(kPaperIntervalMs, 3 * kUnitMs), failing);
      check_against_closed_form("market, T = 2", market_checkpoints(2 * kUnitMs, 2 * kUnitMs, 0.7), failing);
      check_against_closed_form("scheduled", scheduled_checkpoints(failing, 1'000, 2 * kUnitMs), failing);
    }
  }
}

TEST_CASE("a job that never loses its machine takes as long as its work and its checkpoints") {
  const Failures never{.recover = true, .mean_ms = 1e12};
  auto scheme = market_checkpoints(2 * kUnitMs, 2 * kUnitMs);
  scheme.cost_ms = 1'000;
  const auto found = simulate(scheme, never, kWorkMs, {.jobs = 20}, kSeed);
  CHECK(found.mean_ms == kWorkMs + 24'000);
  CHECK(found.standard_error_ms == 0);
}

TEST_CASE("a simulation with the same seed gives the same figures, with another one others") {
  const auto failing = failures(1, true);
  const auto mean_ms = [&](std::uint64_t seed) {
    return simulate(shared_checkpoints(0.5), failing, kWorkMs, {.jobs = 50}, seed).mean_ms;
  };
  CHECK(mean_ms(7) == mean_ms(7));
  CHECK(mean_ms(7) != mean_ms(8));
}

TEST_CASE("jobs that find no free machine wait for one, and all are done") {
  const auto failing = failures(1, true);
  const auto found = simulate(market_checkpoints(2 * kUnitMs, 2 * kUnitMs), failing, kWorkMs,
                              {.jobs = 100, .at_once = 8, .machines = 4}, kSeed);
  CHECK(found.waits > 0);
  CHECK(found.mean_ms >
        1.5 * expected_turnaround_ms(market_checkpoints(2 * kUnitMs, 2 * kUnitMs), failing, kWorkMs));
}

TEST_CASE("the segments of a job add up to its work and the cost of its checkpoints") {
  for (const Ms work : {1, 59'999, 60'000, 60'001, 120'000, 1'234'567}) {
    auto scheme = market_checkpoints(60'000, 30'000);
    scheme.first_interval_ms = 20'000;
    scheme.cost_ms = 500;
    const auto found = segments(scheme, work);
    CHECK(std::ranges::all_of(found, [](Ms segment) { return segment > 0; }));
    CHECK(std::accumulate(found.begin(), found.end(), Ms{0}) ==
          work + 500 * (static_cast<Ms>(found.size()) - 1));
  }
  CHECK(segments(market_checkpoints(10, 3), 50).size() == 5);
  CHECK(segments(market_checkpoints(10, 3), 51).size() == 6);
}

}  // namespace remotist::churn
