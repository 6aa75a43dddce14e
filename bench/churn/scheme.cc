#include "bench/churn/scheme.h"

#include <cmath>
#include <limits>

#include "core/checkpoint_schedule.h"

namespace remotist::churn {

Scheme private_checkpoints() {
  return {.detection = Detection::task_timeout,
          .timeout_ms = kTaskTimeoutMs,
          .first_interval_ms = kPaperIntervalMs,
          .interval_ms = kPaperIntervalMs,
          .cost_ms = 0,
          .kept = 0,
          .availability = 1};
}

Scheme shared_checkpoints(double availability) {
  return {.detection = Detection::checkpoint_timeout,
          .timeout_ms = kCheckpointTimeoutMs,
          .first_interval_ms = kPaperIntervalMs,
          .interval_ms = kPaperIntervalMs,
          .cost_ms = 0,
          .kept = std::numeric_limits<std::size_t>::max(),
          .availability = availability};
}

Scheme market_checkpoints(Ms interval_ms, Ms lease_ms, double availability) {
  return {.detection = Detection::lease,
          .timeout_ms = lease_ms,
          .first_interval_ms = interval_ms,
          .interval_ms = interval_ms,
          .cost_ms = 0,
          .kept = kKeptByMarket,
          .availability = availability};
}

Scheme scheduled_checkpoints(const Failures& failures, Ms cost_ms, Ms lease_ms) {
  const Ms mean_ms = std::llround(failures.mean_ms);
  Scheme scheme = market_checkpoints(checkpoint_interval_ms(cost_ms, mean_ms), lease_ms);
  scheme.first_interval_ms = checkpoint_interval_ms({}, mean_ms);
  scheme.cost_ms = cost_ms;
  return scheme;
}

std::vector<Ms> segments(const Scheme& scheme, Ms work_ms) {
  std::vector<Ms> found;
  Ms interval = scheme.first_interval_ms;
  for (; work_ms > interval; interval = scheme.interval_ms) {
    found.push_back(interval + scheme.cost_ms);
    work_ms -= interval;
  }
  found.push_back(work_ms);
  return found;
}

}  // namespace remotist::churn
