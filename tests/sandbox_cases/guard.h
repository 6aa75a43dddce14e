// A container for guests with protections off, so that an escape can be observed and does no harm: its own
// mount, pid, network, IPC, UTS and user namespaces, the system's programs read-only, /tmp in memory, and
// limits on processes, memory and time.
#pragma once

#include <chrono>
#include <functional>

namespace remotist::volunteer::cases {

struct GuardOptions {
  // As root: a user namespace with every uid of the machine. Without it, root inside keeps root's
  // capabilities over the machine: only for cases that do no harm with them.
  bool own_users = true;
  std::chrono::seconds within{900};
};

// Runs a function in it, as this process's user, and ends everything that it started. Returns its exit
// status, or -1 when it was killed or ran too long. Throws std::system_error when the container cannot be
// made. Requires one thread.
int run_guarded(const GuardOptions& options, const std::function<int()>& inside);

}  // namespace remotist::volunteer::cases
