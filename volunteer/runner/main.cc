// remotist-runner: a process with R in it, from which a guesthouse forks its guests.
//
//   remotist-runner ORDER
//
// Started by a guesthouse alone, in namespaces of its own and with a socket at kControlDescriptor. ORDER is
// the text of a ZygoteOrder.
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

#include "volunteer/runner/engine.h"
#include "volunteer/runner/nursery.h"
#include "volunteer/sandbox/order.h"
#include "volunteer/sandbox/parcel.h"
#include "volunteer/sandbox/policy.h"
#include "volunteer/sandbox/root.h"

namespace {

using namespace remotist::volunteer;

constexpr auto kRHome = REMOTIST_R_HOME;

// What the clocks that count from the start of the machine say to guests at first: any machine's.
constexpr long kClocksBeginSeconds = 30L * 86'400;

// Where there are no time namespaces they are the machine's. 0, or the errno.
int start_clocks() {
  if (::unshare(0x80 /* CLONE_NEWTIME */) != 0) return errno;
  std::ofstream offsets{"/proc/self/timens_offsets"};
  for (const auto clock : {CLOCK_MONOTONIC, CLOCK_BOOTTIME}) {
    timespec now{};
    ::clock_gettime(clock, &now);
    offsets << clock << ' ' << kClocksBeginSeconds - now.tv_sec << " 0\n";
  }
  return offsets.flush() ? 0 : EIO;
}

// The seccomp policies are compiled before R is there and before the root is small, while libseccomp may open
// what it likes.
void be_zygote(const ZygoteOrder& order) {
  const auto policy = compile_policy({.memory_counted = order.memory_counted});
  const auto without_locks = compile_policy({.memory_counted = order.memory_counted, .locks = false});
  std::string no_overlay;
  std::string missing;
  if (order.layers.own_root) {
    no_overlay = enter_root({.r_home = kRHome,
                             .guests = kGuestsDescriptor,
                             .detached = order.guests_detached,
                             .own_inodes = order.layers.own_inodes,
                             .zero = order.memory_counted});
    ::close(kGuestsDescriptor);
    if (!no_overlay.empty()) missing += "\noverlay: " + no_overlay;
  }
  if (order.layers.own_ipc) {
    [[maybe_unused]] const int named = ::sethostname("guest", 5);
    [[maybe_unused]] const int domain = ::setdomainname("(none)", 6);
  }
  start_r();
  if (const int problem = order.layers.own_time ? start_clocks() : 0; problem != 0)
    missing += std::string("\ntime_namespace: ") + std::strerror(problem);
  with_r([&] { serve_house(order, no_overlay.empty() ? policy : without_locks, missing); });
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
    be_zygote(zygote_order_in(arguments[1]));
  } catch (const std::exception& error) {
    send_parcel(kControlDescriptor, std::string(kFailed) + error.what());
    ::_exit(1);
  }
  ::_exit(0);
}
