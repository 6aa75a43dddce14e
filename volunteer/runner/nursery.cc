#include "volunteer/runner/nursery.h"

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

#include "volunteer/runner/move_in.h"
#include "volunteer/sandbox/first_process.h"
#include "volunteer/sandbox/parcel.h"
#include "volunteer/sandbox/root.h"

namespace remotist::volunteer {

namespace {

constexpr int kGuestSocket = 3;
constexpr int kFarewell = 4;
constexpr int kProc = 5;

std::uint64_t namespaces(const Layers& layers) {
  std::uint64_t flags = CLONE_NEWNS;
  if (layers.own_processes) flags |= CLONE_NEWPID;
  if (layers.own_network) flags |= CLONE_NEWNET;
  if (layers.own_ipc) flags |= CLONE_NEWIPC | CLONE_NEWUTS;
  return flags;
}

// Like fork(), into new namespaces. Safe because this process has one thread.
pid_t clone_into(std::uint64_t flags, int& pidfd) {
  return static_cast<pid_t>(::syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, 0));
}

// Leaves the guest's own descriptors at fixed numbers and closes the zygote's.
void sort_descriptors(int socket, int farewell) {
  const int high_socket = ::fcntl(socket, F_DUPFD, 10);
  const int high_farewell = ::fcntl(farewell, F_DUPFD, 10);
  ::dup2(high_socket, kGuestSocket);
  ::dup2(high_farewell, kFarewell);
  ::syscall(SYS_close_range, kFarewell + 1, ~0U, 0);
  const int proc = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (proc >= 0 && proc != kProc) ::dup2(proc, kProc);
}

[[noreturn]] void be_guest(const ZygoteOrder& order, const SeccompProgram& policy, int socket, int farewell) {
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NAME, "guest-first");
  if (!order.layers.own_processes) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sort_descriptors(socket, farewell);
  try {
    if (order.layers.own_root) leave_proc();
  } catch (...) {
    ::_exit(1);
  }
  be_first_process({kGuestSocket, kFarewell, order.layers.own_processes},
                   [&] { move_in(order, policy, kGuestSocket, kProc); });
}

void make_guest(const ZygoteOrder& order, const SeccompProgram& policy) {
  std::array<int, 2> socket{};
  std::array<int, 2> farewell{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket.data()) != 0 ||
      ::pipe2(farewell.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("a guest's socket cannot be made");
  }
  int pidfd = -1;
  const pid_t process = clone_into(namespaces(order.layers), pidfd);
  if (process == 0) be_guest(order, policy, socket[1], farewell[1]);
  const int problem = errno;
  ::close(socket[1]);
  ::close(farewell[1]);
  if (process > 0) {
    send_parcel(kControlDescriptor, kGuest, std::array{pidfd, socket[0], farewell[0]});
    ::close(pidfd);
  }
  ::close(socket[0]);
  ::close(farewell[0]);
  if (process < 0) {
    throw std::runtime_error(std::string("a guest cannot be forked: ") + std::strerror(problem));
  }
}

}  // namespace

void serve_house(const ZygoteOrder& order, const SeccompProgram& policy, const std::string& missing) {
  ::signal(SIGCHLD, SIG_IGN);  // a guest tells the host itself how it went
  send_parcel(kControlDescriptor, std::string(kReady) + missing);
  while (const auto request = receive_parcel(kControlDescriptor)) {
    if (request->text == kMore) make_guest(order, policy);
  }
}

}  // namespace remotist::volunteer
