// The system calls that a guest may make.
//
// An allow-list: what is not on it fails with EPERM, so that R makes an ordinary error of it. A call from
// another ABI (i386, x32) kills. R scripts may start threads, processes and programs; they may not make
// namespaces, mount, trace, load, open a socket that leads out of the machine, make a file that gives
// whoever runs it somebody's rights, or ask how the machine as a whole is doing.
#pragma once

#include <linux/filter.h>
#include <vector>

namespace remotist::volunteer {

using SeccompProgram = std::vector<sock_filter>;

struct PolicyOptions {
  // A cgroup counts memory that no process has mapped. Where none does, jobs get no sockets among their own
  // processes and no shared memory but files.
  bool memory_counted = true;
  // No file that the job can open is the host's own inode, so that a lock on it is nobody else's affair.
  bool locks = true;
};

// Compiles the policy; throws std::runtime_error. Made once, loaded by each guest.
SeccompProgram compile_policy(const PolicyOptions& options);

// Puts it over this process for good. False, with errno, when the kernel refuses. Requires no_new_privs or
// CAP_SYS_ADMIN.
bool load_policy(const SeccompProgram& program);

}  // namespace remotist::volunteer
