#include "bench/churn/expectation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace remotist::churn {
namespace {

constexpr Ms kStepMs = kUnitMs / 50;

// Running a segment until it is done or given up.
struct Trial {
  double success;  // probability that it is done
  double mean_ms;  // until either, with the time until the failure is noticed
};

// The lease runs out between two beats and three after the failure, at any time with the same probability. A
// machine that comes back before goes on.
double mean_delay_ms(Ms lease_ms, const Failures& failures) {
  const auto lease = static_cast<double>(lease_ms);
  const double beat = lease / kBeatsInLease;
  if (!failures.recover) return lease - beat / 2;
  const double rate = 1 / failures.mean_ms;
  return (1 - std::exp(-rate * lease) * std::expm1(rate * beat) / (rate * beat)) / rate;
}

Trial within_lease(Ms segment_ms, Ms lease_ms, const Failures& failures) {
  const double success = std::exp(-static_cast<double>(segment_ms) / failures.mean_ms);
  return {success, (1 - success) * (failures.mean_ms + mean_delay_ms(lease_ms, failures))};
}

Trial without_recovery(const std::vector<Ms>& segments_ms, Ms timeout_ms, double mean_ms) {
  const Ms all_ms = std::accumulate(segments_ms.begin(), segments_ms.end(), Ms{0});
  if (all_ms > timeout_ms) return {0, static_cast<double>(timeout_ms)};
  const double success = std::exp(-static_cast<double>(all_ms) / mean_ms);
  return {success, success * static_cast<double>(all_ms) + (1 - success) * static_cast<double>(timeout_ms)};
}

// The segments on one machine that fails, comes back and repeats the segment in which it failed: a Markov
// chain of the work that is done and of whether the machine works.
Trial with_recovery(const std::vector<Ms>& segments_ms, Ms timeout_ms, double mean_ms) {
  const double change = -std::expm1(-static_cast<double>(kStepMs) / mean_ms);
  std::vector<std::size_t> begins;
  std::size_t steps = 0;
  for (const Ms segment_ms : segments_ms) {
    begins.push_back(steps);
    steps += static_cast<std::size_t>(segment_ms / kStepMs);
  }
  std::vector<double> working(steps);
  std::vector<double> failed(segments_ms.size());
  working[0] = 1;
  double done = 0;
  double mean = 0;
  for (Ms now = 0; now < timeout_ms; now += kStepMs) {
    mean += static_cast<double>(kStepMs) * (1 - done);
    std::vector<double> next(steps);
    for (std::size_t segment = 0; segment < begins.size(); ++segment) {
      const std::size_t end = segment + 1 < begins.size() ? begins[segment + 1] : steps;
      const double back = failed[segment] * change;
      failed[segment] -= back;
      for (std::size_t at = begins[segment]; at < end; ++at) {
        failed[segment] += working[at] * change;
        (at + 1 < steps ? next[at + 1] : done) += working[at] * (1 - change);
      }
      next[begins[segment]] += back;
    }
    working = std::move(next);
  }
  return {done, mean};
}

std::vector<Trial> trials(const Scheme& scheme, const Failures& failures,
                          const std::vector<Ms>& segments_ms) {
  const auto timed = [&](const std::vector<Ms>& together) {
    return failures.recover ? with_recovery(together, scheme.timeout_ms, failures.mean_ms)
                            : without_recovery(together, scheme.timeout_ms, failures.mean_ms);
  };
  if (scheme.detection == Detection::task_timeout) return {timed(segments_ms)};
  std::vector<Trial> found;
  for (const Ms segment_ms : segments_ms) {
    found.push_back(scheme.detection == Detection::lease
                        ? within_lease(segment_ms, scheme.timeout_ms, failures)
                        : timed({segment_ms}));
  }
  return found;
}

}  // namespace

double expected_turnaround_ms(const Scheme& scheme, const Failures& failures, Ms work_ms) {
  std::vector<double> reached{0};  // expected time until so many checkpoints are there for the first time
  for (const Trial& trial : trials(scheme, failures, segments(scheme, work_ms))) {
    const std::size_t saved = reached.size() - 1;
    double resumed = 0;  // expectation of `reached` where the job goes on after a failure
    double none = 1;     // probability that no newer checkpoint is available
    for (std::size_t at = saved; at > saved - std::min(saved, scheme.kept); --at) {
      resumed += none * scheme.availability * reached[at];
      none *= 1 - scheme.availability;
    }
    reached.push_back((reached.back() + trial.mean_ms - (1 - trial.success) * resumed) / trial.success);
  }
  return reached.back();
}

}  // namespace remotist::churn
