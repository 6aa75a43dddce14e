// remotist-runner: a process with R in it, from which a guesthouse forks its guests.
//
//   remotist-runner ORDER
//
// Started by a guesthouse alone, in namespaces of its own and with a socket at kControlDescriptor. ORDER is
// the text of a ZygoteOrder.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
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

// The seccomp policy is compiled before R is there and before the root is small, while libseccomp may open
// what it likes.
void be_zygote(const ZygoteOrder& order) {
  const auto policy = compile_policy({.memory_counted = order.memory_counted});
  if (order.layers.own_root) {
    enter_root({kRHome, order.guests, order.guests_detached ? kGuestsDescriptor : -1, order.memory_counted});
  }
  if (order.guests_detached) ::close(kGuestsDescriptor);
  if (order.layers.own_ipc) [[maybe_unused]]
    const int named = ::sethostname("guest", 5);
  start_r();
  with_r([&] { serve_house(order, policy); });
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
