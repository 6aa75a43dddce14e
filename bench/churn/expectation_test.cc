#include "bench/churn/expectation.h"

#include <cmath>
#include <doctest/doctest.h>

#include "bench/churn/figures.h"

namespace remotist::churn {
namespace {

constexpr auto kIdeal = static_cast<double>(kWorkMs);

double relative(const Scheme& scheme, const Failures& failing) {
  return expected_turnaround_ms(scheme, failing, kWorkMs) / kIdeal;
}

}  // namespace

TEST_CASE("without failures a job takes as long as its work and its checkpoints") {
  for (const bool recover : {false, true}) {
    const Failures never{.recover = recover, .mean_ms = 1e15};
    CHECK(relative(private_checkpoints(), never) == doctest::Approx(1));
    CHECK(relative(shared_checkpoints(0.5), never) == doctest::Approx(1));
    CHECK(relative(market_checkpoints(2 * kUnitMs, 2 * kUnitMs), never) == doctest::Approx(1));
    auto costly = market_checkpoints(2 * kUnitMs, 2 * kUnitMs);
    costly.cost_ms = 1'000;  // 24 of them: the last two units end the job
    CHECK(relative(costly, never) == doctest::Approx(1 + 24'000 / kIdeal));
  }
}

TEST_CASE("with all checkpoints available, leases give the textbook formula") {
  for (const double failures_in_interval : {0.1, 0.5, 1.0}) {
    const auto failing = failures(failures_in_interval, false);
    for (const Ms units : {2, 10}) {
      const Ms lease = 3 * kUnitMs;
      const auto segment = static_cast<double>(units * kUnitMs);
      const double delay = 5.0 / 6 * static_cast<double>(lease);
      const double wanted = (failing.mean_ms + delay) * std::expm1(segment / failing.mean_ms) / segment;
      CHECK(relative(market_checkpoints(units * kUnitMs, lease), failing) == doctest::Approx(wanted));
    }
  }
}

TEST_CASE("private checkpoints of machines that do not come back give 1 + 3 (exp(work / mean) - 1)") {
  for (const double failures_in_interval : {0.1, 0.5, 1.0}) {
    const double wanted = 1 + 3 * std::expm1(5 * failures_in_interval);
    CHECK(relative(private_checkpoints(), failures(failures_in_interval, false)) == doctest::Approx(wanted));
  }
}

TEST_CASE("a checkpoint that the market no longer keeps is of no use") {
  // Only the newest can be fetched, and it never is: as if there were none.
  const auto failing = failures(1, false);
  auto scheme = shared_checkpoints(0);
  CHECK(relative(scheme, failing) > relative(shared_checkpoints(0.1), failing));
  scheme.kept = 0;
  scheme.availability = 1;
  CHECK(relative(scheme, failing) == doctest::Approx(relative(shared_checkpoints(0), failing)));
  auto newest = shared_checkpoints(0.5);
  newest.kept = 1;
  CHECK(relative(newest, failing) > relative(shared_checkpoints(0.5), failing));
}

TEST_CASE("more failures take longer, and machines that come back never do") {
  for (const auto& scheme :
       {private_checkpoints(), shared_checkpoints(0.5), market_checkpoints(2 * kUnitMs, 2 * kUnitMs)}) {
    for (const bool recover : {false, true}) {
      CHECK(relative(scheme, failures(0.5, recover)) < relative(scheme, failures(0.6, recover)));
    }
    CHECK(relative(scheme, failures(0.5, true)) < relative(scheme, failures(0.5, false)));
  }
}

}  // namespace remotist::churn
