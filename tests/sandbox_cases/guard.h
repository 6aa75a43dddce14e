// An outer guard for guests whose sandbox is off: a machine within the machine, so that an escape can be seen
// and hurts nobody. Mounts, processes, network, IPC, host name and users are its own; the system's programs
// are there to read, /tmp is a file system in memory; processes, memory and time are bounded.
#pragma once

#include <chrono>
#include <functional>

namespace remotist::volunteer::cases {

struct GuardOptions {
  // As root: every uid of the machine, but none of its rights. Without it, root inside keeps root's
  // capabilities over the kernel: only for cases that do no harm with them.
  bool own_users = true;
  std::chrono::seconds within{900};
};

// Runs it in there, as root where this process is root and else as its own user; everything that it started
// ends with it. Its exit status, or -1 when it was killed or the time was over. Throws std::system_error when
// this machine cannot be guarded so. Requires that this process has one thread.
int run_guarded(const GuardOptions& options, const std::function<int()>& inside);

}  // namespace remotist::volunteer::cases
