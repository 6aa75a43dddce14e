// Tests which protections this machine can provide, with explanations for its owner.
#pragma once

#include <string>
#include <vector>

#include "volunteer/sandbox/protections.h"

namespace remotist::volunteer {

struct Protection {
  std::string name;  // user_namespace, mount_namespace, pid_namespace, network_namespace, ipc_namespace,
                     // overlay, time_namespace, seccomp, no_new_privileges, own_uids, cgroup_memory, …
  bool present = false;
  bool required = false;      // without it no job is accepted
  std::string description{};  // what it does; when absent also why, what follows, how to get it
};

// Tries each one in a child process and leaves nothing behind. Takes some tens of milliseconds.
std::vector<Protection> probe_protections();
// Whether every required one is present.
bool can_sandbox(const std::vector<Protection>& protections);
// The required ones among `protections` that are absent, with their descriptions; empty when none is.
std::string missing_protections(const Protections& protections);

}  // namespace remotist::volunteer
