// The system calls that a guest may make.
//
// An allow-list: what is not on it fails with EPERM, so that R makes an ordinary error of it. A call from
// another ABI (i386, x32) kills. R scripts may start threads, processes and programs; they may not make
// namespaces, mount, trace, load, open a socket that leads out of the machine, or make a file that gives
// whoever runs it somebody's rights.
#pragma once

#include <linux/filter.h>
#include <vector>

namespace remotist::volunteer {

using SeccompProgram = std::vector<sock_filter>;

// Compiles the policy; throws std::runtime_error. Made once, loaded by each guest. Without a cgroup that
// counts, jobs get nothing that would go uncounted: no sockets among their own processes, since what those
// hold is memory of the kernel and of no process, and no say in what becomes of their children's ends, since
// the kernel buries the children of a process that ignores them, and the time that they used with them.
SeccompProgram compile_policy(bool has_cgroup);

// Puts it over this process for good. False, with errno, when the kernel refuses. Requires no_new_privs or
// CAP_SYS_ADMIN.
bool load_policy(const SeccompProgram& program);

}  // namespace remotist::volunteer
