// Simulates the figures, prints them beside the closed form and beside the targets, and writes them as CSV.
// bench/churn/run tells how.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bench/churn/figures.h"

namespace {

using namespace remotist::churn;

constexpr double kDeviationMax = 0.05;

void print(const Figure& figure) {
  std::printf("\nFigure %d. %s\n", figure.number, figure.title.c_str());
  std::printf("%-12s", "");
  for (const auto& series : figure.series) std::printf("  %26s", series.name.c_str());
  std::printf("\n%-12s", figure.number == 4 ? "availability" : "failures");
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    std::printf("  %9s %9s %6s", "simulated", "closed", "ratio");
  }
  std::printf("\n");
  for (std::size_t at = 0; at < figure.x.size(); ++at) {
    std::printf(figure.number == 4 ? "%10.0f %%" : "%12.1f", figure.x[at]);
    for (const auto& series : figure.series) {
      const Value& value = series.values[at];
      std::printf("  %9.3f %9.3f %6.3f", value.simulated, value.computed, value.ratio());
    }
    std::printf("\n");
  }
}

void print_target(const char* name, double figure, const char* target) {
  std::printf("%-72s %8.2f   %s\n", name, figure, target);
}

// The availability from which shared checkpoints are better than private ones, in percent.
double worthwhile_availability(const Figure& figure) {
  for (std::size_t at = 1; at < figure.x.size(); ++at) {
    const auto difference = [&](std::size_t i) {
      return figure.series[kShared].values[i].simulated - figure.series[kPrivate].values[i].simulated;
    };
    if (difference(at) > 0) continue;
    const double part = difference(at - 1) / (difference(at - 1) - difference(at));
    return figure.x[at - 1] + part * (figure.x[at] - figure.x[at - 1]);
  }
  return 100;
}

void print_targets(const std::array<Figure, 3>& figures) {
  const auto& [recovery, stop, availability] = figures;
  const auto last = [](const Figure& figure, int series) {
    return figure.series[series].values.back().simulated;
  };
  double largest = 0;
  std::size_t waits = 0;
  for (const auto& figure : figures) {
    for (const auto& series : figure.series) {
      for (const auto& value : series.values) {
        largest = std::max(largest, std::abs(value.ratio() - 1));
        waits += value.waits;
      }
    }
  }
  std::printf("\n%-72s %8s   %s\n", "", "measured", "target");
  print_target("largest difference between simulation and closed form, in %", 100 * largest, "at most 5");
  print_target("jobs that had to wait for a machine", static_cast<double>(waits),
               "0: the closed form assumes it");
  std::printf(
      "At one failure in the paper's checkpoint interval, turnaround as a multiple of the ideal one:\n");
  print_target("  crash-stop, market, T = 10, lease 3", last(stop, kMarket10), "at most 2.3");
  print_target("  crash-stop, market, T = 2, lease 2", last(stop, kMarket2), "at most 1.4");
  print_target("  crash-recovery, market, T = 10, lease 3", last(recovery, kMarket10), "at most 2.3");
  print_target("  crash-recovery, market, T = 2, lease 2", last(recovery, kMarket2), "at most 1.4");
  std::printf("What the paper shows:\n");
  print_target("  private as a multiple of shared, crash-recovery",
               last(recovery, kPrivate) / last(recovery, kShared), "above 1 (figure 2)");
  print_target("  private as a multiple of shared, crash-stop", last(stop, kPrivate) / last(stop, kShared),
               "far above that (figure 3)");
  print_target("  shared better than private from this availability on, in %",
               worthwhile_availability(availability), "about 40 (figure 4)");
}

bool write_csv(const std::array<Figure, 3>& figures, const std::string& name) {
  std::ofstream out{name};
  out << "figure,scheme,x,simulated,standard_error,closed_form\n";
  for (const auto& figure : figures) {
    for (const auto& series : figure.series) {
      for (std::size_t at = 0; at < figure.x.size(); ++at) {
        const Value& value = series.values[at];
        out << figure.number << ",\"" << series.name << "\"," << figure.x[at] << ',' << value.simulated << ','
            << value.standard_error << ',' << value.computed << '\n';
      }
    }
  }
  out.close();
  return out.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: %s JOBS SEED [CSV]\n", argv[0]);
    return 2;
  }
  const auto figures =
      all_figures({.jobs = std::strtoull(argv[1], nullptr, 10)}, std::strtoull(argv[2], nullptr, 10));
  for (const auto& figure : figures) print(figure);
  print_targets(figures);
  if (argc == 4 && !write_csv(figures, argv[3])) {
    std::fprintf(stderr, "bench_churn: cannot write %s\n", argv[3]);
    return 1;
  }
}
