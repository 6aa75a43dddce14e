// How long a job runs from one checkpoint to the next: the optimum of J. T. Daly (A higher order estimate of
// the optimum checkpoint interval for restart dumps, 2006), within bounds. Pure; each argument has a result.
#pragma once

#include <cstdint>
#include <optional>

#include "core/limits.h"

namespace remotist {

// Requires 0 < min_ms <= max_ms.
struct CheckpointIntervalBounds {
  std::int64_t min_ms = limits::kCheckpointIntervalSecondsMin * 1000;
  std::int64_t max_ms = limits::kCheckpointIntervalSecondsMax * 1000;
  std::int64_t first_ms = limits::kCheckpointIntervalSecondsFirst * 1000;  // while no cost is known
};

// The time from the end of one checkpoint to the beginning of the next.
//
// cost_ms is by how much a checkpoint of this job delays its script: the pause, and what the script loses
// while the checkpoint is written. Empty: none has been measured. mean_loss_ms is the mean time between two
// losses of the machine. With d the cost and M that mean, the interval is for d < 2M
//   sqrt(2 d M) (1 + sqrt(d / (2M)) / 3 + d / (2M) / 9) - d
// and otherwise what this is at d = 2M: 8/9 M. Daly takes M there, with which a longer M could shorten the
// interval. A negative cost counts as none, and a mean below 1 ms as 1 ms. The result never falls when an
// argument grows.
std::int64_t checkpoint_interval_ms(std::optional<std::int64_t> cost_ms, std::int64_t mean_loss_ms,
                                    const CheckpointIntervalBounds& bounds = {});

}  // namespace remotist
