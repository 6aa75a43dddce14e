#include "volunteer/sandbox/freezer.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <ranges>
#include <vector>

#include "volunteer/sandbox/process_tree.h"

namespace remotist::volunteer {
namespace {

// Each round finds the processes that were forked during the one before it.
constexpr int kRounds = 4;

}  // namespace

void set_frozen(pid_t first, const Cgroup* cgroup, bool frozen) {
  if (cgroup != nullptr && cgroup->set_frozen(frozen)) return;
  std::size_t found = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto processes = processes_of(first);
    if (processes.size() == found) return;
    found = processes.size();
    // Parents are stopped before their children, so that they do not see them stop, and go on after them.
    if (!frozen) std::ranges::reverse(processes);
    for (const pid_t process : processes) ::kill(process, frozen ? SIGSTOP : SIGCONT);
  }
}

}  // namespace remotist::volunteer
