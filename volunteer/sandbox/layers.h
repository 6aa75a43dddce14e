// The defences of a guest, one switch each. All are up on a volunteer's machine; a test takes one away to
// show what it is needed for.
#pragma once

namespace remotist::volunteer {

struct Layers {
  bool own_root = true;    // a mount namespace with only what R needs, read-only but for the guest's folder
  bool own_inodes = true;  // of the host's files in that root: a lock on one is not the host's affair
  bool own_processes = true;  // a pid namespace: sees, signals and outlives nobody
  bool own_network = true;    // a network namespace without an interface that leads anywhere
  bool own_ipc = true;        // and host name
  bool own_time = true;       // clocks that do not count from the start of the machine
  bool own_uid = true;        // as root: a uid that nobody else has; else a user namespace with one uid
  bool no_privileges = true;  // no capabilities, none to be gained
  bool seccomp = true;        // an allow-list of system calls
  bool rlimits = true;        // address space, file size, processes, descriptors, CPU time
  bool cgroup = true;         // memory, processes, CPU shares; where the machine has them
  bool disc_limit = true;     // bytes and inodes: a file system of the job's size, else the folder is watched
  bool frame_budget = true;   // what a guest may say in a second

  // Nothing at all: whoever runs a stranger's code so has given the machine away.
  static constexpr Layers none() {
    return {false, false, false, false, false, false, false, false, false, false, false, false, false};
  }
};

}  // namespace remotist::volunteer
