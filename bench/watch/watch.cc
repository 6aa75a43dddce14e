// What watching costs a job: scripts of this folder, plain and watched in the same run. bench/watch/run tells
// the rest.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <format>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "volunteer/sandbox/guesthouse.h"

namespace {

using namespace remotist::volunteer;
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

double median(std::vector<double> figures) {
  std::ranges::sort(figures);
  return figures[figures.size() / 2];
}

struct Outcome {
  double cpu_s;
  double wall_s;
  double ram_mb;
  std::size_t records;
  std::string log;
};

class Bench {
 public:
  Bench(const fs::path& runner, const fs::path& guests, fs::path scripts)
      : guests_(guests), scripts_(std::move(scripts)), house_({.runner = runner, .guests = guests}) {}

  Outcome run(const std::string& script, const std::vector<std::string>& names, double steps = 1) {
    GuestSpec spec;
    spec.name = std::format("bench-{}", ++count_);
    spec.folder = guests_ / spec.name;
    spec.exec_file = "main.R";
    spec.limits.ram_mb = 4096;
    spec.limits.disc_mb = 1024;
    spec.watched = names;
    fs::create_directories(spec.folder / kWorkFolder);
    std::ofstream{spec.folder / kWorkFolder / "main.R"} << std::format("steps <- {}\n", steps)
                                                        << text_of(scripts_ / script);
    house_.start(spec);
    std::size_t records = 0;
    while (true) {
      pollfd look{house_.descriptor(), POLLIN, 0};
      ::poll(&look, 1, 1000);
      for (auto& event : house_.take_events()) {
        if (const auto* value = std::get_if<PartialValue>(&event.what)) {
          ++records;
          if (!value->file.empty()) fs::remove(spec.folder / kOutFolder / value->file);
        } else if (const auto* ended = std::get_if<Ended>(&event.what)) {
          const auto log = text_of(spec.folder / kLogFile);
          remove_folder(spec.folder);
          if (ended->verdict.ending != Ending::completed)
            throw std::runtime_error(script + ": " + ended->verdict.message + log);
          const auto& steps_of = ended->steps;
          return {static_cast<double>(ended->verdict.cpu_ms) / 1e3,
                  static_cast<double>(steps_of.exited_us - steps_of.began_us) / 1e6,
                  static_cast<double>(ended->verdict.ram_kb_peak) / 1024, records, log};
        }
      }
    }
  }

 private:
  fs::path guests_;
  fs::path scripts_;
  Guesthouse house_;
  int count_ = 0;
};

void hot_loop(Bench& bench) {
  std::printf("one assignment, ns of CPU time         plain            watched\n");
  std::printf("  %-34s %7s %7s %7s %7s %9s %8s\n", "", "least", "median", "least", "median", "added",
              "ratio");
  std::fputs(bench.run("hot_loop.R", {"x", "v", "s"}).log.c_str(), stdout);
}

void pauses(Bench& bench) {
  std::printf("\nan assignment of a large vector, ms\n%8s %12s %11s %17s %13s\n", "", "to a plain", "watched",
              "next write, read", "not watched");
  std::fputs(bench.run("pause.R", {"x"}).log.c_str(), stdout);
  std::puts("  (beyond the largest value that a job can show nothing is read, and the record says so)");
}

// How many steps take so long; from a probe that is long enough for R's own start to be nothing in it.
double steps_for(Bench& bench, const std::string& script, double seconds) {
  double steps = 20;
  for (const double part : {0.2, 1.0}) {
    const double took = std::max(0.05, bench.run(script, {}, steps).cpu_s);
    steps = std::max(1.0, steps * part * seconds / took);
  }
  return steps;
}

void scripts(Bench& bench, int pairs, double seconds, const std::vector<int>& counts) {
  std::printf(
      "\nscripts of about %.0f s, CPU time, %d alternating pairs\n"
      "  %-14s %8s %10s %10s %9s %11s %9s %9s\n",
      seconds, pairs, "", "watched", "plain, s", "watched, s", "medians", "of pairs", "least", "records");
  for (const char* script : {"factors.R", "fibonacci.R", "knn.R"}) {
    const double steps = steps_for(bench, script, seconds);
    for (const int count : counts) {
      std::vector<std::string> names;
      for (int i = 1; i <= count; ++i) names.push_back(std::format("w{}", i));
      std::vector<double> plain;
      std::vector<double> watched;
      std::vector<double> ratios;
      std::size_t records = 0;
      for (int i = 0; i < pairs; ++i) {
        // Who goes first takes turns.
        const bool plain_first = i % 2 == 0;
        const auto one = bench.run(script, plain_first ? std::vector<std::string>{} : names, steps);
        const auto two = bench.run(script, plain_first ? names : std::vector<std::string>{}, steps);
        plain.push_back(plain_first ? one.cpu_s : two.cpu_s);
        watched.push_back(plain_first ? two.cpu_s : one.cpu_s);
        ratios.push_back(watched.back() / plain.back());
        records = std::max(one.records, two.records);
      }
      std::printf("  %-14s %8d %10.2f %10.2f %9.3f %11.3f %9.3f %9zu\n", script, count, median(plain),
                  median(watched), median(watched) / median(plain), median(ratios),
                  std::ranges::min(watched) / std::ranges::min(plain), records);
      std::fflush(stdout);
    }
  }
}

void large_loop(Bench& bench, int pairs, double seconds) {
  const double probe = std::max(0.05, bench.run("large_loop.R", {}, 2e6).wall_s);
  const double steps = std::max(1.0, seconds / probe) * 2e6;
  std::vector<double> ratios;
  Outcome plain{};
  Outcome watched{};
  for (int i = 0; i < pairs; ++i) {
    // Who goes first takes turns.
    if (i % 2 == 0) plain = bench.run("large_loop.R", {}, steps);
    watched = bench.run("large_loop.R", {"x"}, steps);
    if (i % 2 == 1) plain = bench.run("large_loop.R", {}, steps);
    ratios.push_back(watched.wall_s / plain.wall_s);
  }
  std::printf(
      "\nwrites to 100 MB in a tight loop: plain %.2f s, %.0f MB; watched %.2f s, %.0f MB, %zu records; "
      "ratio %.3f (median of %d)\n",
      plain.wall_s, plain.ram_mb, watched.wall_s, watched.ram_mb, watched.records, median(ratios), pairs);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 8) {
    std::fputs("usage: bench_watch RUNNER GUESTS_FOLDER SCRIPTS PART PAIRS SECONDS VARIABLES…\n", stderr);
    return 2;
  }
  try {
    Bench bench{arguments[1], arguments[2], arguments[3]};
    const std::string part = arguments[4];
    const int pairs = std::max(1, std::atoi(arguments[5]));
    const double seconds = std::max(0.1, std::atof(arguments[6]));
    std::vector<int> counts;
    for (int i = 7; i < count; ++i) counts.push_back(std::clamp(std::atoi(arguments[i]), 0, 15));
    if (part == "all" || part == "loop") hot_loop(bench);
    if (part == "all" || part == "pause") pauses(bench);
    if (part == "all" || part == "scripts") scripts(bench, pairs, seconds, counts);
    if (part == "all" || part == "large") large_loop(bench, std::max(1, pairs / 3), seconds * 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_watch: %s\n", error.what());
    return 1;
  }
}
