#include "bench/churn/figures.h"

#include <utility>

#include "bench/churn/expectation.h"

namespace remotist::churn {
namespace {

constexpr double kSharedAvailability = 0.5;
constexpr double kFigure4Failures = 1;

struct Sampling {
  Size size;
  std::uint64_t seed;
};

Value value(const Scheme& scheme, const Failures& failing, const Sampling& sampling) {
  const auto ideal = static_cast<double>(kWorkMs);
  const auto found = simulate(scheme, failing, kWorkMs, sampling.size, sampling.seed);
  return {.simulated = found.mean_ms / ideal,
          .standard_error = found.standard_error_ms / ideal,
          .computed = expected_turnaround_ms(scheme, failing, kWorkMs) / ideal,
          .waits = found.waits};
}

Scheme market_10(double availability) {
  return market_checkpoints(kPaperIntervalMs, 3 * kUnitMs, availability);
}
Scheme market_2(double availability) {
  return market_checkpoints(2 * kUnitMs, 2 * kUnitMs, availability);
}

Figure over_failures(int number, std::string title, bool recover, const Sampling& sampling) {
  Figure figure{.number = number,
                .title = std::move(title),
                .x_name = "failures in 10 units of time",
                .x = {},
                .series = {{"private", {}},
                           {"shared, 50 %", {}},
                           {"market, T = 10, lease 3", {}},
                           {"market, T = 2, lease 2", {}},
                           {"market, T by cost, lease 2", {}}}};
  for (int tenths = 1; tenths <= 10; ++tenths) {
    const double x = tenths / 10.0;
    const auto failing = failures(x, recover);
    figure.x.push_back(x);
    figure.series[kPrivate].values.push_back(value(private_checkpoints(), failing, sampling));
    figure.series[kShared].values.push_back(
        value(shared_checkpoints(kSharedAvailability), failing, sampling));
    figure.series[kMarket10].values.push_back(value(market_10(1), failing, sampling));
    figure.series[kMarket2].values.push_back(value(market_2(1), failing, sampling));
    figure.series[kScheduled].values.push_back(
        value(scheduled_checkpoints(failing, kScheduledCostMs, 2 * kUnitMs), failing, sampling));
  }
  return figure;
}

Figure over_availability(const Sampling& sampling) {
  Figure figure{
      .number = 4,
      .title = "Availability of checkpoints varied, 1 failure in 10 units of time, machines come back",
      .x_name = "availability of checkpoints in %",
      .x = {},
      .series = {
          {"private", {}}, {"shared", {}}, {"market, T = 10, lease 3", {}}, {"market, T = 2, lease 2", {}}}};
  const auto failing = failures(kFigure4Failures, true);
  const auto alone = value(private_checkpoints(), failing, sampling);
  for (int percent = 0; percent <= 100; percent += 10) {
    const double availability = percent / 100.0;
    figure.x.push_back(percent);
    figure.series[kPrivate].values.push_back(alone);
    figure.series[kShared].values.push_back(value(shared_checkpoints(availability), failing, sampling));
    figure.series[kMarket10].values.push_back(value(market_10(availability), failing, sampling));
    figure.series[kMarket2].values.push_back(value(market_2(availability), failing, sampling));
  }
  return figure;
}

}  // namespace

Failures failures(double per_interval, bool recover) {
  return {.recover = recover, .mean_ms = static_cast<double>(kPaperIntervalMs) / per_interval};
}

std::array<Figure, 3> all_figures(const Size& size, std::uint64_t seed) {
  const Sampling sampling{size, seed};
  return {over_failures(2, "Crash-recovery: machines come back", true, sampling),
          over_failures(3, "Crash-stop: machines do not come back", false, sampling),
          over_availability(sampling)};
}

}  // namespace remotist::churn
