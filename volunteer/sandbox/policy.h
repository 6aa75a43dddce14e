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

// Compiles the policy; throws std::runtime_error. Made once, loaded by each guest. What sockets within a job
// hold is memory of the kernel that belongs to no process: where no cgroup counts it, jobs get none.
SeccompProgram compile_policy(bool sockets_within);

// Puts it over this process for good. False, with errno, when the kernel refuses. Requires no_new_privs or
// CAP_SYS_ADMIN.
bool load_policy(const SeccompProgram& program);

}  // namespace remotist::volunteer
