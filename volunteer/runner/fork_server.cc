#include "volunteer/runner/fork_server.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "volunteer/runner/enter_sandbox.h"
#include "volunteer/sandbox/fd_message.h"
#include "volunteer/sandbox/first_process.h"
#include "volunteer/sandbox/root.h"

namespace remotist::volunteer {

namespace {

constexpr int kGuestSocket = 3;
constexpr int kExitPipe = 4;
constexpr int kProc = 5;

std::uint64_t namespaces(const Protections& protections) {
  std::uint64_t flags = CLONE_NEWNS;
  if (protections.own_processes) flags |= CLONE_NEWPID;
  if (protections.own_network) flags |= CLONE_NEWNET;
  if (protections.own_ipc) flags |= CLONE_NEWIPC | CLONE_NEWUTS;
  return flags;
}

// Like fork(), into new namespaces. Requires one thread.
pid_t fork_into(std::uint64_t flags, int& pidfd) {
  return static_cast<pid_t>(::syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, 0));
}

// Moves the guest's descriptors to fixed numbers and closes the zygote's.
void arrange_descriptors(int socket, int exit_pipe) {
  const int high_socket = ::fcntl(socket, F_DUPFD, 10);
  const int high_exit_pipe = ::fcntl(exit_pipe, F_DUPFD, 10);
  ::dup2(high_socket, kGuestSocket);
  ::dup2(high_exit_pipe, kExitPipe);
  ::syscall(SYS_close_range, kExitPipe + 1, ~0U, 0);
  const int proc = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (proc >= 0 && proc != kProc) ::dup2(proc, kProc);
}

[[noreturn]] void run_guest(const ZygoteConfig& config, const SeccompProgram& policy, int socket,
                            int exit_pipe) {
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NAME, "guest-first");
  if (!config.protections.own_processes) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  arrange_descriptors(socket, exit_pipe);
  try {
    if (config.protections.own_root) unmount_proc();
  } catch (...) {
    ::_exit(1);
  }
  run_first_process({kGuestSocket, kExitPipe, config.protections.own_processes},
                    [&] { enter_sandbox(config, policy, kGuestSocket, kProc); });
}

void fork_guest(const ZygoteConfig& config, const SeccompProgram& policy) {
  std::array<int, 2> socket{};
  std::array<int, 2> exit_pipe{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket.data()) != 0 ||
      ::pipe2(exit_pipe.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("a guest's socket cannot be made");
  }
  int pidfd = -1;
  const pid_t process = fork_into(namespaces(config.protections), pidfd);
  if (process == 0) run_guest(config, policy, socket[1], exit_pipe[1]);
  const int problem = errno;
  ::close(socket[1]);
  ::close(exit_pipe[1]);
  if (process > 0) {
    send_fd_message(kControlDescriptor, kForked, std::array{pidfd, socket[0], exit_pipe[0]});
    ::close(pidfd);
  }
  ::close(socket[0]);
  ::close(exit_pipe[0]);
  if (process < 0) {
    throw std::runtime_error(std::string("a guest cannot be forked: ") + std::strerror(problem));
  }
}

}  // namespace

void serve_forks(const ZygoteConfig& config, const SeccompProgram& policy, const std::string& missing) {
  ::signal(SIGCHLD, SIG_IGN);  // guests report their end to the agent themselves
  send_fd_message(kControlDescriptor, std::string(kReady) + missing);
  while (const auto request = receive_fd_message(kControlDescriptor)) {
    if (request->text == kFork) fork_guest(config, policy);
  }
}

}  // namespace remotist::volunteer
