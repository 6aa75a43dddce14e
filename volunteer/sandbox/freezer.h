// Freezes all processes of a guest, and lets them go on: by its cgroup, where it has one of version 2, else
// by SIGSTOP and SIGCONT to each. A frozen guest keeps its memory and can be killed.
#pragma once

#include <sys/types.h>

#include "volunteer/sandbox/cgroup.h"

namespace remotist::volunteer {

// `first` is the first process of the guest's pid namespace, `cgroup` may be null. Never blocks. Without a
// cgroup, a process that is forked while the others are stopped is found by the next call.
void set_frozen(pid_t first, const Cgroup* cgroup, bool frozen);

}  // namespace remotist::volunteer
