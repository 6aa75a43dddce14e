#include "volunteer/sandbox/first_process.h"

#include <cerrno>
#include <csignal>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "volunteer/sandbox/order.h"
#include "volunteer/sandbox/privileges.h"

namespace remotist::volunteer {

namespace {

// The farewell comes after the last process is gone, so that nothing of a guest moves once the host has read
// it.
void see_out(const FirstProcess& first, pid_t job) {
  Farewell farewell{};
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == job) {
      farewell.wait_status = status;
      break;
    }
    if (ended < 0 && errno != EINTR) ::_exit(1);
  }
  ::kill(first.alone ? -1 : -job, SIGKILL);
  if (first.alone) {
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  } else {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  farewell.cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                    used.ru_stime.tv_usec;
  farewell.rss_kb_peak = used.ru_maxrss;
  [[maybe_unused]] const auto written = ::write(STDIN_FILENO, &farewell, sizeof farewell);
}

}  // namespace

void be_first_process(const FirstProcess& first, const std::function<void()>& job) {
  char admitted = 0;
  while (::read(first.socket, &admitted, 1) < 0 && errno == EINTR) {
  }
  if (admitted != kAdmitted) ::_exit(0);
  const pid_t process = ::fork();
  if (process < 0) ::_exit(1);
  if (process == 0) {
    ::close(first.farewell);
    if (!first.alone) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setpgid(0, 0);
    }
    job();
    ::_exit(1);
  }
  ::dup2(first.farewell, STDIN_FILENO);
  ::syscall(SYS_close_range, STDOUT_FILENO, ~0U, 0);
  try {
    drop_capabilities(1ULL << CAP_KILL);
  } catch (...) {
    ::_exit(1);
  }
  see_out(first, process);
  ::_exit(0);
}

}  // namespace remotist::volunteer
