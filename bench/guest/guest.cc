// Runs guests whose script is `x <- 1` and prints how long they take, beside a fresh Rscript in the same run.
// bench/guest/run tells how many.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <format>
#include <fstream>
#include <functional>
#include <map>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "volunteer/sandbox/sandbox.h"

extern char** environ;

namespace {

using namespace remotist::volunteer;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

double quantile(std::vector<double> figures, double share) {
  std::ranges::sort(figures);
  return figures[std::min(figures.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(figures.size())))];
}

class Bench {
 public:
  Bench(const fs::path& runner, const fs::path& guests) : sandbox_({runner, guests}) {
    sandbox_.prepare_discs(GuestLimits{}.disc_mb, 2);
  }

  void wait_for(const std::function<bool()>& done) {
    while (!done()) {
      pollfd readable{sandbox_.descriptor(), POLLIN, 0};
      ::poll(&readable, 1, 1000);
      for (auto& event : sandbox_.take_events()) {
        auto* ended = std::get_if<Ended>(&event.what);
        if (ended == nullptr) continue;
        ended_.push_back(std::move(*ended));
        // As an agent does, so that the next guest reuses the disc.
        const auto made = made_.extract(event.guest);
        remove_folder(made.mapped().folder);
      }
    }
  }
  void until_ready() {
    wait_for([this] { return sandbox_.ready(); });
  }
  void begin() {
    GuestSpec spec;
    spec.name = std::format("bench-{}", ++started_);
    spec.exec_file = "main.R";
    const auto began = Clock::now();
    sandbox_.make_folder(spec);
    folder_ms_.push_back(ms_since(began));
    std::ofstream{spec.folder / kWorkFolder / "main.R"} << "x <- 1\n";
    made_.emplace(spec.name, spec);
    sandbox_.start(std::move(spec));
  }
  std::size_t ended() const { return ended_.size(); }
  void check() const {
    for (const auto& one : ended_) {
      if (one.verdict.ending != Ending::completed)
        throw std::runtime_error("a guest failed: " + one.verdict.message);
    }
  }
  const std::vector<Ended>& all() const { return ended_; }
  const std::vector<double>& folder_ms() const { return folder_ms_; }
  void forget() {
    ended_.clear();
    folder_ms_.clear();
  }
  pid_t zygote() const { return sandbox_.zygote(); }

 private:
  Sandbox sandbox_;
  std::map<std::string, GuestSpec> made_;
  std::vector<double> folder_ms_;
  std::vector<Ended> ended_;
  int started_ = 0;
};

double rscript_ms() {
  const auto began = Clock::now();
  std::array<const char*, 4> arguments{"Rscript", "-e", "x <- 1", nullptr};
  pid_t process = 0;
  if (::posix_spawnp(&process, arguments[0], nullptr, nullptr, const_cast<char**>(arguments.data()),
                     environ) != 0) {
    throw std::runtime_error("Rscript cannot be started");
  }
  ::waitpid(process, nullptr, 0);
  return ms_since(began);
}

long pss_kb(pid_t process) {
  std::ifstream file{std::format("/proc/{}/smaps_rollup", process)};
  for (std::string key; file >> key;) {
    long kb = 0;
    if (key == "Pss:" && file >> kb) return kb;
  }
  return 0;
}

void print_row(const char* name, const std::vector<double>& figures) {
  std::printf("  %-42s %8.2f %8.2f %8.2f\n", name, quantile(figures, 0), quantile(figures, 0.5),
              quantile(figures, 0.99));
}

void print_step(const char* name, const std::vector<Ended>& ended, std::int64_t Steps::* from,
                std::int64_t Steps::* to) {
  std::vector<double> figures;
  for (const auto& one : ended) {
    const double begin = from == nullptr ? 0 : static_cast<double>(one.steps.*from);
    figures.push_back((static_cast<double>(one.steps.*to) - begin) / 1000);
  }
  print_row(name, figures);
}

void one_by_one(Bench& bench, int repetitions, int pause_ms) {
  std::vector<double> guests;
  std::vector<double> scripts;
  for (int i = 0; i < repetitions; ++i) {
    bench.begin();
    const auto before = bench.ended();
    bench.wait_for([&] { return bench.ended() > before; });
    guests.push_back(static_cast<double>(bench.all().back().steps.ended_us) / 1000);
    if (i % 10 == 0) scripts.push_back(rscript_ms());
    const auto until = Clock::now() + std::chrono::milliseconds(pause_ms);
    bench.wait_for([&] { return Clock::now() >= until; });
  }
  bench.check();
  std::printf("%-44s %8s %8s %8s\n",
              pause_ms > 0 ? "one guest, each after a pause, ms" : "one guest after another, ms", "least",
              "p50", "p99");
  print_row("start to end", guests);
  print_row("before that: its folder and disc made", bench.folder_ms());
  print_step("its folder prepared", bench.all(), nullptr, &Steps::prepared_us);
  print_step("handed to a waiting process", bench.all(), &Steps::prepared_us, &Steps::configured_us);
  print_step("every protection in place", bench.all(), &Steps::configured_us, &Steps::began_us);
  print_step("script run, result saved", bench.all(), &Steps::began_us, &Steps::final_message_us);
  print_step("every process gone", bench.all(), &Steps::final_message_us, &Steps::exited_us);
  print_step("files compared, log written", bench.all(), &Steps::exited_us, &Steps::ended_us);
  print_row("a fresh Rscript -e 'x <- 1'", scripts);
  std::printf("  %-42s %8.0f %8.0f\n\n", "times as fast as a fresh Rscript",
              quantile(scripts, 0) / quantile(guests, 0), quantile(scripts, 0.5) / quantile(guests, 0.5));
  bench.forget();
}

void two_at_once(Bench& bench, int repetitions) {
  const auto began = Clock::now();
  int started = 0;
  bench.wait_for([&] {
    while (started < repetitions && started - static_cast<int>(bench.ended()) < 2) {
      bench.begin();
      ++started;
    }
    return static_cast<int>(bench.ended()) == repetitions;
  });
  bench.check();
  std::printf("%-44s %8.0f\n", "guests a second, two at once", repetitions / (ms_since(began) / 1000));
  bench.forget();
}

void measure(const fs::path& runner, const fs::path& guests, int repetitions) {
  const auto began = Clock::now();
  Bench bench{runner, guests};
  bench.until_ready();
  const double ready = ms_since(began);
  for (int i = 0; i < 10; ++i) {
    bench.begin();
    bench.wait_for([&] { return bench.ended() == static_cast<std::size_t>(i + 1); });
  }
  bench.forget();
  one_by_one(bench, repetitions, 0);
  one_by_one(bench, repetitions / 4, 50);
  two_at_once(bench, repetitions);
  std::printf("%-44s %8.0f\n", "the zygote is ready after, ms", ready);
  std::printf("%-44s %8.1f\n", "memory of the zygote (PSS), MB",
              static_cast<double>(pss_kb(bench.zygote())) / 1024);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("usage: bench_guest RUNNER GUESTS_FOLDER REPETITIONS\n", stderr);
    return 2;
  }
  try {
    measure(arguments[1], arguments[2], std::max(4, std::atoi(arguments[3])));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_guest: %s\n", error.what());
    return 1;
  }
}
