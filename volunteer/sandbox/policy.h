// The system calls that a guest may make.
//
// An allow-list: any other call fails with EPERM, which R reports as an ordinary error. A call from another
// ABI (i386, x32) kills the process. R scripts may start threads, processes and programs. They may not make
// namespaces, mount, trace, load kernel code, open network sockets, make set-uid or set-gid files, or query
// the state of the whole machine.
#pragma once

#include <linux/filter.h>
#include <vector>

namespace remotist::volunteer {

using SeccompProgram = std::vector<sock_filter>;

struct PolicyOptions {
  // A cgroup counts memory that no process has mapped. Without one, jobs get no sockets between their own
  // processes and no shared memory except files.
  bool memory_counted = true;
  // Allow locks on files: no file that the job can open has the host's inode.
  bool locks = true;
};

// Compiles the policy, once for all guests. Throws std::runtime_error.
SeccompProgram compile_policy(const PolicyOptions& options);

// Applies it to this process, irrevocably. False, with errno, when the kernel refuses. Requires no_new_privs
// or CAP_SYS_ADMIN.
bool load_policy(const SeccompProgram& program);

}  // namespace remotist::volunteer
