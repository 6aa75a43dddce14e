// The expected turnaround time of a job, computed instead of simulated. docs/churn.md derives it.
#pragma once

#include "bench/churn/scheme.h"

namespace remotist::churn {

// From the first assignment to the result. Assumes that failures are exponential and that a machine which
// works is free whenever a job needs one. Exact, but for timeouts of machines that come back: their
// distribution is computed in steps of 1/50 unit.
double expected_turnaround_ms(const Scheme& scheme, const Failures& failures, Ms work_ms);

}  // namespace remotist::churn
