#include "core/checkpoint_schedule.h"

#include <algorithm>
#include <cmath>

namespace remotist {

std::int64_t checkpoint_interval_ms(std::optional<std::int64_t> cost_ms, std::int64_t mean_loss_ms,
                                    const CheckpointIntervalBounds& bounds) {
  if (!cost_ms) return bounds.first_ms;
  const auto mean = static_cast<double>(std::max<std::int64_t>(mean_loss_ms, 1));
  const double cost = std::clamp(static_cast<double>(*cost_ms), 0.0, 2 * mean);
  const double part = cost / (2 * mean);
  const double optimum = std::sqrt(2 * cost * mean) * (1 + std::sqrt(part) / 3 + part / 9) - cost;
  // In this order, so that no double is rounded that an integer cannot hold.
  if (optimum >= static_cast<double>(bounds.max_ms)) return bounds.max_ms;
  return std::max<std::int64_t>(std::llround(optimum), bounds.min_ms);
}

}  // namespace remotist
