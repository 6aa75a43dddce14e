#include "volunteer/sandbox/policy.h"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <format>
#include <linux/ioctl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <memory>
#include <sched.h>
#include <seccomp.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

namespace {

// Calls without a condition on their arguments. Those that this machine's kernel headers do not know are
// skipped.
constexpr const char* kAllowed[] = {
    // memory
    "brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "msync", "mlock", "munlock",
    "membarrier",
    // files
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2",
    "close", "close_range", "lseek", "_llseek", "stat", "fstat", "lstat", "newfstatat", "fstatat64", "statx",
    "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents", "getdents64", "getcwd",
    "chdir", "fchdir", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2",
    "link", "linkat", "symlink", "symlinkat", "chown", "fchown", "lchown", "fchownat", "truncate",
    "ftruncate", "fallocate", "fsync", "fdatasync", "sync_file_range", "flock", "umask", "utime", "utimes",
    "utimensat", "futimesat", "statfs", "fstatfs", "fadvise64", "readahead", "sendfile", "splice",
    "copy_file_range", "dup", "dup2", "dup3", "fcntl", "pipe", "pipe2", "getxattr", "lgetxattr", "fgetxattr",
    "listxattr", "llistxattr", "flistxattr", "eventfd", "eventfd2",
    // waiting
    "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait",
    "epoll_pwait", "epoll_pwait2", "nanosleep", "clock_nanosleep", "pause", "restart_syscall",
    // time
    "time", "gettimeofday", "clock_gettime", "clock_getres", "times", "alarm", "getitimer", "setitimer",
    "timer_create", "timer_settime", "timer_gettime", "timer_delete", "timer_getoverrun", "timerfd_create",
    "timerfd_settime", "timerfd_gettime",
    // signals: to whom is up to the pid namespace
    "kill", "tkill", "tgkill", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigpending", "rt_sigtimedwait", "rt_sigqueueinfo", "sigaltstack", "signalfd4",
    // threads and processes; clone has its own rule
    "fork", "vfork", "execve", "exit", "exit_group", "wait4", "waitid", "futex", "futex_waitv",
    "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "arch_prctl", "gettid", "getpid",
    "getppid", "getpgid", "getpgrp", "setpgid", "getsid", "setsid", "getuid", "geteuid", "getgid", "getegid",
    "getresuid", "getresgid", "getgroups", "setuid", "setgid", "setreuid", "setregid", "setresuid",
    "setresgid", "setfsuid", "setfsgid", "capget", "getrlimit", "setrlimit", "getrusage", "getpriority",
    "sched_yield", "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max",
    "sched_get_priority_min", "getcpu", "sysinfo", "uname", "getrandom", "get_mempolicy",
    // sockets that are already there
    "connect", "accept", "accept4", "getsockname", "getpeername", "getsockopt", "setsockopt", "shutdown",
    "sendto", "recvfrom", "recvmsg"};

// prctl is a drawer of everything: only what libraries and shells ask of it.
constexpr int kAllowedPrctls[] = {PR_SET_NAME,         PR_GET_NAME,         PR_GET_DUMPABLE, PR_SET_PDEATHSIG,
                                  PR_GET_PDEATHSIG,    PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP,  PR_CAPBSET_READ,
                                  PR_SET_NO_NEW_PRIVS, PR_SET_VMA};

constexpr unsigned long kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                          CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                                          0x80UL /* CLONE_NEWTIME */;

class Policy {
 public:
  Policy() : context_(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release) {
    if (!context_) throw std::runtime_error("libseccomp gives no policy");
    check(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
          "bad architecture");
    seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  }

  void allow(const char* call) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR) return;
    check(seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, number, 0, nullptr), call);
  }
  void rule(std::uint32_t action, const char* call, std::initializer_list<scmp_arg_cmp> when) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR) return;
    check(seccomp_rule_add_array(context_.get(), action, number, static_cast<unsigned>(when.size()),
                                 when.begin()),
          call);
  }
  SeccompProgram compile() const {
    const Descriptor file{::memfd_create("policy", MFD_CLOEXEC)};
    check(seccomp_export_bpf(context_.get(), file.get()), "export");
    const off_t bytes = ::lseek(file.get(), 0, SEEK_END);
    SeccompProgram program(static_cast<std::size_t>(bytes) / sizeof(sock_filter));
    if (::pread(file.get(), program.data(), static_cast<std::size_t>(bytes), 0) != bytes) {
      throw std::runtime_error("the seccomp policy cannot be read back");
    }
    return program;
  }

 private:
  static void check(int result, const char* what) {
    if (result != 0) throw std::runtime_error(std::format("seccomp policy, {}: error {}", what, -result));
  }

  std::unique_ptr<void, decltype(&seccomp_release)> context_;
};

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

// The bits that lend a file's owner's or group's rights to whoever runs it: an ordinary user's agent shares
// its uid with the guests.
void allow_plain_modes(Policy& policy) {
  constexpr std::uint64_t kLends = S_ISUID | S_ISGID;
  constexpr std::uint64_t kMakes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
  policy.rule(SCMP_ACT_ALLOW, "chmod", {masked(1, kLends, 0)});
  policy.rule(SCMP_ACT_ALLOW, "fchmod", {masked(1, kLends, 0)});
  policy.rule(SCMP_ACT_ALLOW, "fchmodat", {masked(2, kLends, 0)});
  policy.rule(SCMP_ACT_ALLOW, "fchmodat2", {masked(2, kLends, 0)});
  policy.rule(SCMP_ACT_ALLOW, "creat", {masked(1, kLends, 0)});
  // The mode of a file that is not made means nothing, and may be anything.
  policy.rule(SCMP_ACT_ALLOW, "open", {masked(1, kMakes, 0)});
  policy.rule(SCMP_ACT_ALLOW, "open", {masked(2, kLends, 0)});
  policy.rule(SCMP_ACT_ALLOW, "openat", {masked(2, kMakes, 0)});
  policy.rule(SCMP_ACT_ALLOW, "openat", {masked(3, kLends, 0)});
  // Its mode is behind a pointer; a library that is told that the call does not exist takes openat.
  policy.rule(SCMP_ACT_ERRNO(ENOSYS), "openat2", {});
}

}  // namespace

SeccompProgram compile_policy(bool sockets_within) {
  Policy policy;
  for (const char* call : kAllowed) policy.allow(call);
  allow_plain_modes(policy);
  for (const int option : kAllowedPrctls) {
    policy.rule(SCMP_ACT_ALLOW, "prctl", {masked(0, 0xffffffff, static_cast<std::uint64_t>(option))});
  }
  policy.rule(SCMP_ACT_ALLOW, "clone", {masked(0, kNamespaceFlags, 0)});
  // Its flags are behind a pointer; a library that is told that the call does not exist takes clone.
  policy.rule(SCMP_ACT_ERRNO(ENOSYS), "clone3", {});
  policy.rule(SCMP_ACT_ALLOW, "socket", {masked(0, 0xffffffff, AF_UNIX)});
  if (sockets_within) {
    policy.rule(SCMP_ACT_ALLOW, "socketpair", {masked(0, 0xffffffff, AF_UNIX)});
    policy.allow("bind");
    policy.allow("listen");
  }
  policy.rule(SCMP_ACT_ALLOW, "mknod", {masked(1, S_IFMT, S_IFIFO)});
  policy.rule(SCMP_ACT_ALLOW, "mknodat", {masked(2, S_IFMT, S_IFIFO)});
  // Its own limits, not those of the process above it.
  policy.rule(SCMP_ACT_ALLOW, "prlimit64", {masked(0, 0xffffffff, 0)});
  policy.rule(SCMP_ACT_ALLOW, "sched_setaffinity", {masked(0, 0xffffffff, 0)});
  policy.rule(SCMP_ACT_ALLOW, "setpriority", {masked(0, 0xffffffff, PRIO_PROCESS), masked(1, 0xffffffff, 0)});
  for (const unsigned long request :
       {static_cast<unsigned long>(TCGETS), static_cast<unsigned long>(TIOCGWINSZ),
        static_cast<unsigned long>(TIOCGPGRP), static_cast<unsigned long>(FIONREAD),
        static_cast<unsigned long>(FIONBIO), static_cast<unsigned long>(FIOCLEX),
        static_cast<unsigned long>(FIONCLEX), 0x802c542aUL /* TCGETS2 */}) {
    policy.rule(SCMP_ACT_ALLOW, "ioctl", {masked(1, 0xffffffff, request)});
  }
  return policy.compile();
}

bool load_policy(const SeccompProgram& program) {
  const sock_fprog prog{static_cast<unsigned short>(program.size()),
                        const_cast<sock_filter*>(program.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0;
}

}  // namespace remotist::volunteer
