// The first process of a guest: its pid namespace's init. Ours, and small: it gathers orphans, and when the
// job's process has ended it kills whatever is left and tells the host how it went.
#pragma once

#include <functional>
#include <sys/types.h>

namespace remotist::volunteer {

struct FirstProcess {
  int socket;    // the guest's; its first byte is awaited here
  int farewell;  // a pipe; one Farewell is written to it
  bool alone;    // it is pid 1: what it can see is the guest
};

// Forks the job's process, which calls `job` and never returns from it, and sees it out. Exits when every
// process of the guest is gone.
[[noreturn]] void be_first_process(const FirstProcess& first, const std::function<void()>& job);

}  // namespace remotist::volunteer
