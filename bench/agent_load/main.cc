// agent_load: many lent machines in one process, over real sockets. See --help, and
// bench/agent_load/machine.h.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <curl/curl.h>
#include <exception>
#include <memory>
#include <sys/resource.h>

#include "bench/agent_load/fleet.h"
#include "bench/agent_load/options.h"
#include "bench/agent_load/setup.h"
#include "core/digest.h"
#include "core/log.h"
#include "core/process.h"

namespace {

using namespace remotist;
using namespace remotist::bench;

std::chrono::duration<double> cpu_used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return std::chrono::duration<double>{seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

int run(const RunOptions& options) {
  const auto machines = read_machine_list(options.machines_file);
  std::fprintf(stderr, "%zu machines, seed %llu\n", machines.size(),
               static_cast<unsigned long long>(options.seed));
  // A machine takes two: its socket, and one that libcurl opens for itself.
  allow_descriptors(3 * machines.size() + 200, "raise the hard limit (ulimit -Hn) or play fewer machines");
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto journal = options.journal_file.empty()
                           ? std::make_unique<Journal>()
                           : std::make_unique<Journal>(options.journal_file, options.journal_sync);
  Report report;
  Fleet fleet{options, machines, report, *journal};
  const auto began = Clock::now();
  fleet.run();
  std::printf("%s\n", report.text(options.seed, Clock::now() - began, cpu_used()).c_str());
  if (fleet.all_retired()) {
    std::fprintf(stderr,
                 "agent_load: the market turned every machine away, as told above: make new tokens with "
                 "`agent_load make`\n");
    return 1;
  }
  if (report.welcomes == 0) {
    std::fprintf(stderr, "agent_load: no machine was welcomed: does a market listen at %s?\n",
                 options.socket_url.c_str());
    return 1;
  }
  return 0;
}

int make(const MakeOptions& options) {
  make_machines(options,
                [](const MachineCredentials& machine) { std::fputs(line_of(machine).c_str(), stdout); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  crypto_start();
  // What the sessions log of connections is counted in the report, and the first of each kind are told.
  log::set_level(log::Level::error);
  std::signal(SIGPIPE, SIG_IGN);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  try {
    const auto asked = read_options({argv + 1, argv + argc});
    if (const auto* spoken = std::get_if<ExitMessage>(&asked)) {
      std::fputs(spoken->text.c_str(), spoken->exit_status == 0 ? stdout : stderr);
      return spoken->exit_status;
    }
    const auto* options = std::get_if<RunOptions>(&asked);
    return options != nullptr ? run(*options) : make(std::get<MakeOptions>(asked));
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "agent_load: %s\n", fault.what());
    return 1;
  }
}
