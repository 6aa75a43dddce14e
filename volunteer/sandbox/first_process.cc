#include "volunteer/sandbox/first_process.h"

#include <cerrno>
#include <csignal>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "volunteer/sandbox/launch.h"
#include "volunteer/sandbox/privileges.h"

namespace remotist::volunteer {

namespace {

// The report is written after the last process is gone: once the host has read it, the guest changes nothing.
void reap_guest(const FirstProcess& first, pid_t job) {
  ExitReport report{};
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == job) {
      report.wait_status = status;
      break;
    }
    if (ended < 0 && errno != EINTR) ::_exit(1);
  }
  ::kill(first.is_init ? -1 : -job, SIGKILL);
  if (first.is_init) {
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  } else {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  report.cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                  used.ru_stime.tv_usec;
  report.rss_kb_peak = used.ru_maxrss;
  [[maybe_unused]] const auto written = ::write(STDIN_FILENO, &report, sizeof report);
}

}  // namespace

void run_first_process(const FirstProcess& first, const std::function<void()>& job) {
  char byte = 0;
  while (::read(first.socket, &byte, 1) < 0 && errno == EINTR) {
  }
  if (byte != kProceed) ::_exit(0);
  const pid_t process = ::fork();
  if (process < 0) ::_exit(1);
  if (process == 0) {
    ::close(first.exit_pipe);
    if (!first.is_init) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setpgid(0, 0);
    }
    job();
    ::_exit(1);
  }
  ::dup2(first.exit_pipe, STDIN_FILENO);
  ::syscall(SYS_close_range, STDOUT_FILENO, ~0U, 0);
  try {
    drop_capabilities(1ULL << CAP_KILL);
  } catch (...) {
    ::_exit(1);
  }
  reap_guest(first, process);
  ::_exit(0);
}

}  // namespace remotist::volunteer
