#include "volunteer/sandbox/zygote.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <linux/close_range.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "volunteer/sandbox/fail.h"
#include "volunteer/sandbox/launch.h"

namespace remotist::volunteer {

namespace {

// The whole environment: nothing of the agent's is passed on. malloc uses huge pages, so forking a large
// process for a checkpoint takes a tenth of the time (script/bench checkpoint).
constexpr std::array<const char*, 15> kEnvironment{"PATH=/usr/local/bin:/usr/bin:/bin",
                                                   "HOME=/work",
                                                   "TMPDIR=/tmp",
                                                   "USER=guest",
                                                   "LOGNAME=guest",
                                                   "SHELL=/bin/sh",
                                                   "LC_ALL=C.UTF-8",
                                                   "LANG=C.UTF-8",
                                                   "TZ=UTC",
                                                   "TERM=dumb",
                                                   "OPENBLAS_NUM_THREADS=1",
                                                   "OMP_NUM_THREADS=1",
                                                   "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
                                                   "R_HOME=" REMOTIST_R_HOME,
                                                   nullptr};

// A sealed copy of the program in memory: a uid that cannot reach the file can execute it, and a guest cannot
// reach the file through it.
Descriptor open_program(const std::filesystem::path& runner) {
  Descriptor file{::open(runner.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) fail(std::format("{} cannot be opened", runner.string()));
  int memory = ::memfd_create("remotist-runner", MFD_CLOEXEC | MFD_ALLOW_SEALING | 0x10U /* MFD_EXEC */);
  if (memory < 0) memory = ::memfd_create("remotist-runner", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  Descriptor copy{memory};
  if (!copy) return file;  // memfds are forbidden here: execute the file
  for (;;) {
    const ssize_t moved = ::sendfile(copy.get(), file.get(), nullptr, 1 << 24);
    if (moved == 0) break;
    if (moved < 0 && errno != EINTR) return file;
  }
  ::fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  return copy;
}

std::uint64_t namespaces(const Protections& protections, const Uids& uids) {
  std::uint64_t flags = CLONE_NEWNS;
  if (protections.own_uid || !uids.range) flags |= CLONE_NEWUSER;
  if (protections.own_processes) flags |= CLONE_NEWPID;
  if (protections.own_network) flags |= CLONE_NEWNET;
  if (protections.own_ipc) flags |= CLONE_NEWIPC | CLONE_NEWUTS;
  return flags;
}

struct Start {
  int program;
  int control;
  int guests;               // a detached mount; -1 for none
  const char* guests_path;  // or null
  int null;
  bool become_root;  // of its user namespace
  const char* config;
};

// In the new process, whose parent may have threads: makes system calls only and allocates no memory.
[[noreturn]] void run_program(const Start& start) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int control = ::fcntl(start.control, F_DUPFD, 20);
  const int guests = start.guests < 0 ? -1 : ::fcntl(start.guests, F_DUPFD, 20);
  const int program = ::fcntl(start.program, F_DUPFD_CLOEXEC, 20);
  for (int standard = 0; standard < 3; ++standard) ::dup2(start.null, standard);
  ::dup2(control, kControlDescriptor);
  if (guests >= 0) ::dup2(guests, kGuestsDescriptor);
  ::syscall(SYS_close_range, kGuestsDescriptor + (guests >= 0 ? 1 : 0), ~0U, CLOSE_RANGE_CLOEXEC);
  char mapped[16];  // kUidsMapped
  if (::read(kControlDescriptor, mapped, sizeof mapped) <= 0) ::_exit(1);
  if (start.become_root) {
    ::syscall(SYS_setgroups, 0, nullptr);  // refused, and not needed, where only one uid is mapped
    if (::syscall(SYS_setresgid, 0, 0, 0) != 0 || ::syscall(SYS_setresuid, 0, 0, 0) != 0) ::_exit(1);
  }
  if (start.guests_path != nullptr) {  // opened here: the program must not know its path
    const int folder = ::open(start.guests_path, O_PATH | O_DIRECTORY);
    if (folder < 0) ::_exit(1);
    if (folder != kGuestsDescriptor) {
      ::dup2(folder, kGuestsDescriptor);
      ::close(folder);
    }
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // reset by the change of uid
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_DFL);
  const char* arguments[] = {"remotist-runner", start.config, nullptr};
  ::syscall(SYS_execveat, program, "", arguments, kEnvironment.data(), AT_EMPTY_PATH);
  ::_exit(127);
}

}  // namespace

Zygote::Zygote(const std::filesystem::path& runner, const std::filesystem::path& guests,
               const Protections& protections, const Uids& uids, bool memory_counted) {
  const Descriptor program = open_program(runner);
  const Descriptor null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  // As root the zygote's uid cannot reach the folder, so it gets a detached mount. As an ordinary user
  // open_tree() is refused, but the zygote can reach the folder.
  const Descriptor tree{uids.range && protections.own_root
                            ? static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, guests.c_str(),
                                                         OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC))
                            : -1};
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0)
    fail("no socket for the zygote");
  control_ = Descriptor{pair[0]};
  Descriptor theirs{pair[1]};
  const auto config =
      encode(ZygoteConfig{protections, uids.range, protections.own_root ? "" : guests.string(),
                          static_cast<bool>(tree), memory_counted});
  const auto flags = namespaces(protections, uids);
  const bool mapped = (flags & CLONE_NEWUSER) != 0;
  const char* path = protections.own_root && !tree ? guests.c_str() : nullptr;
  const Start start{program.get(), theirs.get(), tree.get(), path, null.get(), mapped, config.c_str()};
  int pidfd = -1;
  process_ =
      static_cast<pid_t>(::syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, 0));
  if (process_ == 0) run_program(start);
  if (process_ < 0) fail("the zygote's namespaces cannot be made");
  pidfd_ = Descriptor{pidfd};
  try {
    if (mapped) map_uids(process_, uids);
  } catch (const std::system_error& error) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    throw std::runtime_error(error.what());
  }
  ::fcntl(control_.get(), F_SETFL, O_NONBLOCK);
  send_fd_message(control_.get(), kUidsMapped);
}

Zygote::~Zygote() {
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Zygote::alive() const {
  pollfd exited{pidfd_.get(), POLLIN, 0};
  return ::poll(&exited, 1, 0) == 0;
}

void Zygote::request_fork() {
  send_fd_message(control_.get(), kFork);
}

}  // namespace remotist::volunteer
