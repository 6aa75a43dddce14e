// The paper's figures 2 to 4 as numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/churn/simulation.h"

namespace remotist::churn {

// Turnaround times, as multiples of the ideal one.
struct Value {
  double simulated;
  double standard_error;
  double computed;  // expected_turnaround_ms()
  std::size_t waits;

  double ratio() const { return simulated / computed; }
};

struct Series {
  std::string name;
  std::vector<Value> values;  // one for each x of its figure
};

struct Figure {
  int number;  // in the paper
  std::string title;
  std::string x_name;
  std::vector<double> x;
  std::vector<Series> series;
};

inline constexpr int kPrivate = 0;  // the order of the series in each figure
inline constexpr int kShared = 1;
inline constexpr int kMarket10 = 2;   // T = 10, lease 3
inline constexpr int kMarket2 = 3;    // T = 2, lease 2
inline constexpr int kScheduled = 4;  // not in figure 4
inline constexpr Ms kScheduledCostMs = 1'000;

// Failures that happen `per_interval` times in the paper's checkpoint interval, on average.
Failures failures(double per_interval, bool recover);

// Figures 2 (machines come back) and 3 (they do not): over the number of failures in a checkpoint interval.
// Figure 4: over the availability of checkpoints, with one failure in an interval and machines that come
// back.
std::array<Figure, 3> all_figures(const Size& size, std::uint64_t seed);

}  // namespace remotist::churn
