// Jobs on machines that fail, with a simulated clock. worker/matching places the jobs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/churn/scheme.h"

namespace remotist::churn {

struct Size {
  std::size_t jobs = 10'000;  // that are run to their end
  std::size_t at_once = 8;    // of them
  std::size_t machines = 64;  // each for one job at a time
};

struct Turnaround {
  double mean_ms;
  double standard_error_ms;
  std::size_t waits;  // how often a job had to wait because no machine was free
};

// Failures and recoveries are decided once in a millisecond, always with the same probability. A machine that
// fails without recovering is replaced by a new one, and one that recovers too late counts as a new one, as
// in the paper. A job avoids a machine that works but let it time out. Idle machines are offered to jobs
// while they work, because a closed connection ends a machine's offers at once. The limit on the losses of a
// job does not apply. The same arguments give the same result.
Turnaround simulate(const Scheme& scheme, const Failures& failures, Ms work_ms, const Size& size,
                    std::uint64_t seed);

}  // namespace remotist::churn
