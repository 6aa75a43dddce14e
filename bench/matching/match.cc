// Places a batch of random jobs on ever more random machines and prints how the time of a job grows.
// bench/matching/run tells how often it repeats that.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "worker/matching/matching.h"

namespace {

using namespace remotist;
using namespace remotist::worker;
using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 3> kMachines{100, 10'000, 100'000};
constexpr std::size_t kJobs = 500;

std::int64_t between(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>{least, most}(random);
}

// Each amount is drawn by itself, also how much of it is free: half on average. Machines that have much of
// one thing and little of another are what makes the search go astray, and here they are many.
std::vector<Machine> some_machines(std::mt19937_64& random, std::size_t count) {
  std::vector<Machine> machines;
  machines.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Amounts total{between(random, 1, 64), between(random, 1'024, 262'144),
                        between(random, 10'240, 2'097'152)};
    const Amounts free{between(random, 0, total.cpu_cores), between(random, 0, total.ram_mb),
                       between(random, 0, total.disc_mb)};
    machines.push_back({MachineSessionId::make(), MachineId::make(), free, total,
                        Credits::micro(between(random, 1, 1'000)), std::nullopt});
  }
  return machines;
}

// From 1 to 64 cores, the more the rarer. The price of one in two does not reach every machine.
std::vector<WaitingJob> some_jobs(std::mt19937_64& random, const std::vector<Machine>& machines) {
  std::vector<WaitingJob> jobs;
  for (std::size_t i = 0; i < kJobs; ++i) {
    const std::int64_t cores = between(random, 1, std::int64_t{1} << between(random, 0, 6));
    const Amounts needs{cores, cores * between(random, 256, 4'096), between(random, 1'024, 65'536)};
    WaitingJob job{
        JobId::make(), AccountId::make(), needs, Credits::micro(cores * between(random, 1, 2'000)), {}};
    for (std::int64_t failed = between(random, -3, 3); failed > 0; --failed) {
      job.excluded.push_back(machines[random() % machines.size()].machine);
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

struct Figures {
  std::vector<double> built_us;
  std::vector<double> job_ns;
  std::vector<double> ratios;  // of job_ns to the fewest machines, within one repetition
  std::size_t placed = 0;
};

void measure(const std::vector<Machine>& machines, const std::vector<WaitingJob>& jobs, Figures& figures) {
  const auto began = Clock::now();
  Matcher matcher{machines};
  const auto built = Clock::now();
  for (const auto& job : jobs) figures.placed += matcher.place(job).has_value();
  const auto ended = Clock::now();
  figures.built_us.push_back(std::chrono::duration<double, std::micro>(built - began).count());
  figures.job_ns.push_back(std::chrono::duration<double, std::nano>(ended - built).count() / kJobs);
}

double median(std::vector<double> figures) {
  std::ranges::nth_element(figures, figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2));
  return figures[figures.size() / 2];
}

void print(std::size_t machines, const Figures& figures) {
  const double ratio = median(figures.ratios);
  const double log_ratio = std::log2(machines) / std::log2(kMachines[0]);
  const double jobs = static_cast<double>(kJobs * figures.job_ns.size());
  std::printf("%8zu  %13.2f  %10.0f  %7.2f  %10.2f  %14.2f  %5.0f %%\n", machines,
              median(figures.built_us) / 1000, median(figures.job_ns), ratio, log_ratio, ratio / log_ratio,
              100 * static_cast<double>(figures.placed) / jobs);
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc == 2 ? std::atoi(argv[1]) : 0;
  if (repetitions < 1) {
    std::fprintf(stderr, "usage: %s REPETITIONS\n", argv[0]);
    return 2;
  }
  std::mt19937_64 random{1};
  std::array<Figures, kMachines.size()> figures;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t size = 0; size < kMachines.size(); ++size) {
      const auto machines = some_machines(random, kMachines[size]);
      measure(machines, some_jobs(random, machines), figures[size]);
      figures[size].ratios.push_back(figures[size].job_ns.back() / figures[0].job_ns.back());
    }
  }

  std::printf("%zu jobs, median of %d repetitions\n\n", kJobs, repetitions);
  std::printf("%8s  %13s  %10s  %7s  %10s  %14s  %7s\n", "machines", "tree built ms", "per job ns", "ratio",
              "log2 ratio", "ratio over log", "placed");
  for (std::size_t size = 0; size < kMachines.size(); ++size) print(kMachines[size], figures[size]);
}
