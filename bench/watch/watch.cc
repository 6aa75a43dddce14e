// The overhead of watching: scripts of this folder, plain and watched in the same run (see bench/watch/run).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <format>
#include <fstream>
#include <map>
#include <poll.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "volunteer/sandbox/process_tree.h"
#include "volunteer/sandbox/sandbox.h"

namespace {

using namespace remotist::volunteer;
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

double quantile(std::vector<double> figures, double part) {
  std::ranges::sort(figures);
  return figures[static_cast<std::size_t>(part * static_cast<double>(figures.size() - 1) + 0.5)];
}
double median(const std::vector<double>& figures) {
  return quantile(figures, 0.5);
}

struct Outcome {
  double cpu_s = 0;
  double wall_s = 0;
  double ram_mb = 0;
  std::size_t records = 0;
  std::string log;
};

// Swaps the cores of two running guests every 20 ms, so that other load on a core affects both alike. Without
// that, two runs of the same script differ by several percent.
class Cores {
 public:
  void swap() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(20);
    if (at_work_.size() != 2 || !std::ranges::all_of(at_work_, is_at_work)) find();
    if (at_work_.size() != 2) return;
    turn_ = 1 - turn_;
    for (std::size_t i = 0; i < 2; ++i) put(at_work_[i], (i + turn_) % 2);
  }

 private:
  static bool is_at_work(pid_t process) {
    const auto stat = proc_text(std::format("/proc/{}/stat", process));
    return stat.contains(" (guest) R ");
  }
  void find() {
    at_work_ = processes_of(::getpid());
    std::erase_if(at_work_, [](pid_t process) { return !is_at_work(process); });
  }
  static void put(pid_t process, std::size_t core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    for (const auto& thread : proc_names(std::format("/proc/{}/task", process)))
      ::sched_setaffinity(std::atoi(thread.c_str()), sizeof cores, &cores);
  }

  std::vector<pid_t> at_work_;
  std::size_t turn_ = 0;
  std::chrono::steady_clock::time_point next_;
};

class Bench {
 public:
  Bench(const fs::path& runner, const fs::path& guests, fs::path scripts)
      : guests_(guests), scripts_(std::move(scripts)), sandbox_({.runner = runner, .guests = guests}) {}

  Outcome run(const std::string& script, const std::vector<std::string>& names, double steps = 1) {
    Outcome outcome;
    const auto name = start(script, names, steps);
    wait({{name, &outcome}});
    return outcome;
  }

  // Concurrently, so that other load on the machine affects both.
  std::pair<Outcome, Outcome> run_both(const std::string& script, const std::vector<std::string>& names,
                                       double steps, bool watched_first) {
    Outcome plain;
    Outcome watched;
    std::map<std::string, Outcome*> runs;
    if (watched_first) runs[start(script, names, steps)] = &watched;
    runs[start(script, {}, steps)] = &plain;
    if (!watched_first) runs[start(script, names, steps)] = &watched;
    wait(std::move(runs));
    return {plain, watched};
  }

 private:
  std::string start(const std::string& script, const std::vector<std::string>& names, double steps) {
    GuestSpec spec;
    spec.name = std::format("bench-{}", ++count_);
    spec.folder = guests_ / spec.name;
    spec.exec_file = "main.R";
    spec.limits.ram_mb = 4096;
    spec.limits.disc_mb = 1024;
    spec.watched_variables = names;
    fs::create_directories(spec.folder / kWorkFolder);
    std::ofstream{spec.folder / kWorkFolder / "main.R"} << std::format("steps <- {}\n", steps)
                                                        << text_of(scripts_ / script);
    sandbox_.start(spec);
    return spec.name;
  }

  void wait(std::map<std::string, Outcome*> runs) {
    Cores cores;
    while (!runs.empty()) {
      pollfd look{sandbox_.descriptor(), POLLIN, 0};
      ::poll(&look, 1, 10);
      if (runs.size() == 2) cores.swap();
      for (auto& event : sandbox_.take_events()) {
        const auto folder = guests_ / event.guest;
        auto& outcome = *runs.at(event.guest);
        if (const auto* record = std::get_if<GuestRecord>(&event.what)) {
          ++outcome.records;
          if (!record->file.empty()) fs::remove(folder / kOutFolder / record->file);
        } else if (const auto* ended = std::get_if<Ended>(&event.what)) {
          outcome.log = text_of(folder / kLogFile);
          remove_folder(folder);
          if (ended->verdict.ending != Ending::completed)
            throw std::runtime_error(event.guest + ": " + ended->verdict.message + outcome.log);
          outcome.cpu_s = static_cast<double>(ended->verdict.cpu_ms) / 1e3;
          outcome.wall_s = static_cast<double>(ended->steps.exited_us - ended->steps.began_us) / 1e6;
          outcome.ram_mb = static_cast<double>(ended->verdict.ram_kb_peak) / 1024;
          runs.erase(event.guest);
        }
      }
    }
  }

  fs::path guests_;
  fs::path scripts_;
  Sandbox sandbox_;
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

// How many steps take that long, by a probe that is long compared with R's start.
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
      "\nscripts of about %.0f s, CPU time, %d pairs side by side\n"
      "  %-14s %8s %10s %10s %9s %9s %15s %9s\n",
      seconds, pairs, "", "watched", "plain, s", "watched, s", "medians", "pairs", "(quartiles)", "records");
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
        // Who begins takes turns.
        const auto [one, other] = bench.run_both(script, names, steps, i % 2 == 1);
        plain.push_back(one.cpu_s);
        watched.push_back(other.cpu_s);
        ratios.push_back(other.cpu_s / one.cpu_s);
        records = other.records;
      }
      std::printf("  %-14s %8d %10.2f %10.2f %9.3f %9.3f   %.3f - %.3f %9zu\n", script, count, median(plain),
                  median(watched), median(watched) / median(plain), median(ratios), quantile(ratios, 0.25),
                  quantile(ratios, 0.75), records);
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
