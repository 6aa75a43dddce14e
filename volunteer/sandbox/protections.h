// The protections of the sandbox, one switch each. All are on for an agent; tests switch one off to show
// which hostile guest then escapes.
#pragma once

namespace remotist::volunteer {

struct Protections {
  bool own_root = true;       // mount namespace: only what R needs, read-only, and the guest's folder
  bool own_inodes = true;     // overlays: no file in that root has the host's inode, so locks are separate
  bool own_processes = true;  // pid namespace: a guest sees and signals only its own processes
  bool own_network = true;    // network namespace without interfaces to the outside
  bool own_ipc = true;        // IPC and UTS namespaces
  bool own_time = true;       // time namespace: clocks do not show the machine's uptime
  bool own_uid = true;        // root agent: a uid for each guest; else a user namespace with one uid
  bool no_privileges = true;  // no capabilities, no_new_privs
  bool seccomp = true;        // allow-list of system calls
  bool rlimits = true;        // address space, file size, processes, descriptors, CPU time
  bool cgroup = true;         // memory, processes and cores, where the machine has cgroups
  bool disc_limit = true;     // bytes and inodes: a file system of the job's size, else scans of the folder
  bool frame_budget = true;   // rate of messages from a guest

  // Everything off: a job can then do whatever the agent's user can.
  static constexpr Protections none() {
    return {false, false, false, false, false, false, false, false, false, false, false, false, false};
  }
};

}  // namespace remotist::volunteer
