// The first process of a guest: init of its pid namespace. It is our code and runs no R: it reaps orphans,
// and when the job's process has exited it kills all others and writes an ExitReport.
#pragma once

#include <functional>
#include <sys/types.h>

namespace remotist::volunteer {

struct FirstProcess {
  int socket;     // the guest's; blocks until kProceed is read from it
  int exit_pipe;  // gets one ExitReport
  bool is_init;   // pid 1 of a pid namespace: every process that it can see belongs to the guest
};

// Forks the job's process, which calls `job` (never returns), and reaps the guest. Exits when every process
// of the guest is gone. Requires one thread.
[[noreturn]] void run_first_process(const FirstProcess& first, const std::function<void()>& job);

}  // namespace remotist::volunteer
