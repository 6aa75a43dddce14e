// What this machine can and cannot do to keep a guest in, in words for its owner.
#pragma once

#include <string>
#include <vector>

#include "volunteer/sandbox/layers.h"

namespace remotist::volunteer {

struct Defence {
  std::string name;  // user_namespace, mount_namespace, pid_namespace, network_namespace, ipc_namespace,
                     // seccomp, no_new_privileges, cgroup_memory, cgroup_cpu, cgroup_processes, own_uids, …
  bool present = false;
  bool required = false;  // without it no guest is taken in
  std::string words{};    // what it does; when absent: why it is, what that means, how to get it
};

// Tries each of them, in child processes: nothing of it stays. Takes some tens of milliseconds.
std::vector<Defence> probe_defences();
// Whether every required one is present.
bool can_sandbox(const std::vector<Defence>& defences);
// Why guests cannot be taken in with these layers, in words; nothing when they can.
std::string lacking_defences(const Layers& layers);

}  // namespace remotist::volunteer
