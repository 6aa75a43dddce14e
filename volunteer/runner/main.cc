// remotist-runner: the zygote, a process with R initialised that forks guests.
//
//   remotist-runner CONFIG
//
// Started only by a Sandbox, in its own namespaces and with a socket at kControlDescriptor. CONFIG is an
// encoded ZygoteConfig.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volunteer/runner/fork_server.h"
#include "volunteer/runner/r_session.h"
#include "volunteer/sandbox/fd_message.h"
#include "volunteer/sandbox/launch.h"
#include "volunteer/sandbox/policy.h"
#include "volunteer/sandbox/root.h"

namespace {

using namespace remotist::volunteer;

constexpr auto kRHome = REMOTIST_R_HOME;

// The uptime that guests see at first.
constexpr long kClocksBeginSeconds = 30L * 86'400;

// Moves guests into a time namespace; 0, or the errno where there are none.
int enter_time_namespace() {
  if (::unshare(0x80 /* CLONE_NEWTIME */) != 0) return errno;
  std::ofstream offsets{"/proc/self/timens_offsets"};
  for (const auto clock : {CLOCK_MONOTONIC, CLOCK_BOOTTIME}) {
    timespec now{};
    ::clock_gettime(clock, &now);
    offsets << clock << ' ' << kClocksBeginSeconds - now.tv_sec << " 0\n";
  }
  return offsets.flush() ? 0 : EIO;
}

// Compiles the seccomp policies before R starts and before the root changes, while libseccomp can open its
// files.
void run_zygote(const ZygoteConfig& config) {
  const auto policy = compile_policy({.memory_counted = config.memory_counted});
  const auto without_locks = compile_policy({.memory_counted = config.memory_counted, .locks = false});
  std::string no_overlay;
  std::string missing;
  if (config.protections.own_root) {
    no_overlay = enter_root({.r_home = kRHome,
                             .guests = kGuestsDescriptor,
                             .detached = config.guests_detached,
                             .own_inodes = config.protections.own_inodes,
                             .has_dev_zero = config.memory_counted});
    ::close(kGuestsDescriptor);
    if (!no_overlay.empty()) missing += "\noverlay: " + no_overlay;
  }
  if (config.protections.own_ipc) {
    [[maybe_unused]] const int named = ::sethostname("guest", 5);
    [[maybe_unused]] const int domain = ::setdomainname("(none)", 6);
  }
  start_r();
  if (const int problem = config.protections.own_time ? enter_time_namespace() : 0; problem != 0)
    missing += std::string("\ntime_namespace: ") + std::strerror(problem);
  with_r([&] { serve_forks(config, no_overlay.empty() ? policy : without_locks, missing); });
}

}  // namespace

int main(int count, char** arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 0);
  struct stat control{};
  if (count != 2 || ::fstat(kControlDescriptor, &control) != 0 || !S_ISSOCK(control.st_mode)) {
    std::fputs("remotist-runner: is started by volunteer-agent, not by hand\n", stderr);
    return 2;
  }
  try {
    run_zygote(parse_zygote_config(arguments[1]));
  } catch (const std::exception& error) {
    send_fd_message(kControlDescriptor, std::string(kFailed) + error.what());
    ::_exit(1);
  }
  ::_exit(0);
}
