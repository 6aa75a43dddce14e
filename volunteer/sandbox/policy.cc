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
#include <span>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

namespace {

// Calls that are allowed with any arguments. Those that libseccomp does not know are skipped.
constexpr const char* kAllowed[] = {
    // memory
    "brk", "munmap", "mremap", "mprotect", "msync", "mlock", "munlock", "membarrier",
    // files
    "read", "readv", "pread64", "preadv", "write", "writev", "pwrite64", "pwritev", "close", "close_range",
    "lseek", "_llseek", "stat", "fstat", "lstat", "newfstatat", "fstatat64", "statx", "access", "faccessat",
    "faccessat2", "readlink", "readlinkat", "getdents", "getdents64", "getcwd", "chdir", "fchdir", "mkdir",
    "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "symlink",
    "symlinkat", "chown", "fchown", "lchown", "fchownat", "truncate", "ftruncate", "fsync", "fdatasync",
    "sync_file_range", "umask", "utime", "utimes", "utimensat", "futimesat", "sendfile", "splice",
    "copy_file_range", "dup", "dup2", "dup3", "pipe", "pipe2", "getxattr", "lgetxattr", "fgetxattr",
    "listxattr", "llistxattr", "flistxattr", "eventfd", "eventfd2",
    // waiting
    "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait",
    "epoll_pwait", "epoll_pwait2", "nanosleep", "clock_nanosleep", "pause", "restart_syscall",
    // time
    "time", "gettimeofday", "clock_gettime", "clock_getres", "alarm", "getitimer", "setitimer",
    "timer_create", "timer_settime", "timer_gettime", "timer_delete", "timer_getoverrun", "timerfd_create",
    "timerfd_settime", "timerfd_gettime",
    // signals; the pid namespace limits their targets
    "kill", "tkill", "tgkill", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigpending", "rt_sigtimedwait", "rt_sigqueueinfo", "sigaltstack", "signalfd4",
    // threads and processes; clone has its own rule
    "fork", "vfork", "execve", "exit", "exit_group", "wait4", "waitid", "futex", "futex_waitv",
    "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "arch_prctl", "gettid", "getpid",
    "getppid", "getpgid", "getpgrp", "setpgid", "getsid", "setsid", "getuid", "geteuid", "getgid", "getegid",
    "getresuid", "getresgid", "getgroups", "setuid", "setgid", "setreuid", "setregid", "setresuid",
    "setresgid", "setfsuid", "setfsgid", "capget", "getrlimit", "setrlimit", "getrusage", "getpriority",
    "sched_yield", "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max",
    "sched_get_priority_min", "getcpu", "uname", "getrandom", "get_mempolicy",
    // existing sockets
    "connect", "accept", "accept4", "getsockname", "getpeername", "shutdown", "sendto", "recvfrom",
    "recvmsg"};

// The options of prctl that libraries and shells use.
constexpr int kAllowedPrctls[] = {PR_SET_NAME,         PR_GET_NAME,         PR_GET_DUMPABLE, PR_SET_PDEATHSIG,
                                  PR_GET_PDEATHSIG,    PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP,  PR_CAPBSET_READ,
                                  PR_SET_NO_NEW_PRIVS, PR_SET_VMA};

// Not F_NOTIFY, which reports accesses by other processes, nor F_SETPIPE_SZ: pipes keep 64 KiB. F_SETLEASE
// has a rule of its own.
constexpr int kAllowedFcntls[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,  F_SETFD,
                                  F_GETFL, F_SETFL,         F_GETOWN, F_GETPIPE_SZ};
// Locks owned by a process. Those of an open file description (F_OFD_SETLK) survive when the file is mapped
// and closed, where they cannot be counted; libraries fall back to these on EINVAL.
constexpr int kLockFcntls[] = {F_GETLK, F_SETLK, F_SETLKW};
constexpr int kOpenFileLockFcntls[] = {F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};

// A read lease is granted only while nobody has the file open for writing, which the checkpoint engine wants
// to know. It needs the file's owner, delays only those who open the file to write, and only files of the job
// are writable where locks are allowed. A write lease would delay every reader: also the agent.
constexpr int kLeases[] = {F_RDLCK, F_UNLCK};

// Options of SOL_SOCKET. Not SO_ATTACH_FILTER and the like, which load programs into the kernel, nor
// SO_PASSCRED, which gives a socket a name without bind().
constexpr int kSettableOptions[] = {SO_REUSEADDR, SO_SNDBUF,   SO_RCVBUF,  SO_KEEPALIVE,
                                    SO_LINGER,    SO_RCVTIMEO, SO_SNDTIMEO};
// Not SO_PEERPIDFD and SO_PEERSEC, which describe a process outside.
constexpr int kReadableOptions[] = {SO_TYPE,      SO_ERROR,    SO_DOMAIN,   SO_PROTOCOL,  SO_ACCEPTCONN,
                                    SO_PEERCRED,  SO_SNDBUF,   SO_RCVBUF,   SO_KEEPALIVE, SO_LINGER,
                                    SO_REUSEADDR, SO_PASSCRED, SO_RCVTIMEO, SO_SNDTIMEO};

// Not MADV_MERGEABLE: the time of a write to a merged page reveals whether another process has the same page.
// Not MADV_COLD, MADV_PAGEOUT and MADV_COLLAPSE, which affect pages of files that others have mapped.
constexpr int kAllowedAdvice[] = {MADV_NORMAL,
                                  MADV_RANDOM,
                                  MADV_SEQUENTIAL,
                                  MADV_WILLNEED,
                                  MADV_DONTNEED,
                                  MADV_FREE,
                                  MADV_REMOVE,
                                  MADV_DONTFORK,
                                  MADV_DOFORK,
                                  MADV_HUGEPAGE,
                                  MADV_NOHUGEPAGE,
                                  MADV_DONTDUMP,
                                  MADV_DODUMP,
                                  MADV_WIPEONFORK,
                                  MADV_KEEPONFORK,
                                  MADV_POPULATE_READ,
                                  MADV_POPULATE_WRITE,
                                  102 /* MADV_GUARD_INSTALL */,
                                  103 /* MADV_GUARD_REMOVE */};

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

// Modes without set-uid and set-gid: guests of an ordinary user's agent have the agent's uid.
void allow_plain_modes(Policy& policy) {
  constexpr std::uint64_t kSetIds = S_ISUID | S_ISGID;
  constexpr std::uint64_t kCreates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
  policy.rule(SCMP_ACT_ALLOW, "chmod", {masked(1, kSetIds, 0)});
  policy.rule(SCMP_ACT_ALLOW, "fchmod", {masked(1, kSetIds, 0)});
  policy.rule(SCMP_ACT_ALLOW, "fchmodat", {masked(2, kSetIds, 0)});
  policy.rule(SCMP_ACT_ALLOW, "fchmodat2", {masked(2, kSetIds, 0)});
  policy.rule(SCMP_ACT_ALLOW, "creat", {masked(1, kSetIds, 0)});
  // The mode matters only when a file is created.
  policy.rule(SCMP_ACT_ALLOW, "open", {masked(1, kCreates, 0)});
  policy.rule(SCMP_ACT_ALLOW, "open", {masked(2, kSetIds, 0)});
  policy.rule(SCMP_ACT_ALLOW, "openat", {masked(2, kCreates, 0)});
  policy.rule(SCMP_ACT_ALLOW, "openat", {masked(3, kSetIds, 0)});
  // Its mode is behind a pointer, which a filter cannot read; on ENOSYS libraries use openat.
  policy.rule(SCMP_ACT_ERRNO(ENOSYS), "openat2", {});
}

// Allows a call with one of these values in an argument of which the kernel uses the low 32 bits.
void allow_when(Policy& policy, const char* call, unsigned argument, std::span<const int> values) {
  for (const int value : values) {
    policy.rule(SCMP_ACT_ALLOW, call, {masked(argument, 0xffffffff, static_cast<std::uint32_t>(value))});
  }
}

void allow_socket_options(Policy& policy, const char* call, std::span<const int> options) {
  for (const int option : options) {
    policy.rule(
        SCMP_ACT_ALLOW, call,
        {masked(1, 0xffffffff, SOL_SOCKET), masked(2, 0xffffffff, static_cast<std::uint32_t>(option))});
  }
}

// The page cache is shared with the host. A guest may neither query it (RWF_NOWAIT) nor evict pages
// (RWF_DONTCACHE, POSIX_FADV_DONTNEED). Advice is ignored, which its callers must expect.
void restrict_page_cache(Policy& policy) {
  for (const char* call : {"preadv2", "pwritev2"}) {
    policy.rule(SCMP_ACT_ALLOW, call, {masked(5, 0xffffffff, 0)});
    policy.rule(SCMP_ACT_ERRNO(EOPNOTSUPP), call, {masked(5, RWF_NOWAIT, RWF_NOWAIT)});
  }
  policy.rule(SCMP_ACT_ERRNO(0), "fadvise64", {});
  policy.rule(SCMP_ACT_ERRNO(0), "readahead", {});
}

// Huge pages come from a pool that no memory limit counts. Anonymous shared memory persists after it is
// removed from a process's page tables, and then only a cgroup counts it.
void allow_mappings(Policy& policy, bool shared_memory) {
  constexpr std::uint64_t kType = 0x0f;
  constexpr std::uint64_t kDroppable = 0x08;  // Linux 6.11; glibc keeps random numbers there
  const auto allow = [&policy](std::uint64_t type, std::uint64_t mask) {
    policy.rule(SCMP_ACT_ALLOW, "mmap", {masked(3, kType | MAP_HUGETLB | mask, type)});
  };
  const std::uint64_t not_shared = shared_memory ? 0 : MAP_ANONYMOUS;
  allow(MAP_PRIVATE, 0);
  allow(kDroppable, 0);
  allow(MAP_SHARED, not_shared);
  allow(MAP_SHARED_VALIDATE, not_shared);
}

}  // namespace

SeccompProgram compile_policy(const PolicyOptions& options) {
  Policy policy;
  for (const char* call : kAllowed) policy.allow(call);
  allow_plain_modes(policy);
  allow_when(policy, "prctl", 0, kAllowedPrctls);
  allow_when(policy, "fcntl", 1, kAllowedFcntls);
  if (options.locks) {
    allow_when(policy, "fcntl", 1, kLockFcntls);
    for (const int lock : kOpenFileLockFcntls)
      policy.rule(SCMP_ACT_ERRNO(EINVAL), "fcntl", {masked(1, 0xffffffff, static_cast<std::uint32_t>(lock))});
    for (const int lease : kLeases) {
      policy.rule(
          SCMP_ACT_ALLOW, "fcntl",
          {masked(1, 0xffffffff, F_SETLEASE), masked(2, 0xffffffff, static_cast<std::uint32_t>(lease))});
    }
  }
  // Its locks, too, survive behind a mapping, where they cannot be counted. Libraries continue without it.
  policy.rule(SCMP_ACT_ERRNO(ENOSYS), "flock", {});
  allow_when(policy, "madvise", 2, kAllowedAdvice);
  allow_socket_options(policy, "setsockopt", kSettableOptions);
  allow_socket_options(policy, "getsockopt", kReadableOptions);
  restrict_page_cache(policy);
  allow_mappings(policy, options.memory_counted);
  // Would reveal the size and use of the host's disc. Programs handle ENOSYS.
  policy.rule(SCMP_ACT_ERRNO(ENOSYS), "statfs", {});
  // posix_fallocate() calls it and returns its error.
  policy.rule(SCMP_ACT_ERRNO(EOPNOTSUPP), "fstatfs", {});
  policy.rule(SCMP_ACT_ALLOW, "clone", {masked(0, kNamespaceFlags, 0)});
  // Its flags are behind a pointer; on ENOSYS libraries use clone.
  policy.rule(SCMP_ACT_ERRNO(ENOSYS), "clone3", {});
  // Would allocate any amount of disc in microseconds. On EOPNOTSUPP programs write instead.
  policy.rule(SCMP_ACT_ERRNO(EOPNOTSUPP), "fallocate", {});
  policy.rule(SCMP_ACT_ALLOW, "socket", {masked(0, 0xffffffff, AF_UNIX)});
  if (options.memory_counted) {
    policy.rule(SCMP_ACT_ALLOW, "socketpair", {masked(0, 0xffffffff, AF_UNIX)});
    policy.allow("bind");
    policy.allow("listen");
  }
  policy.rule(SCMP_ACT_ALLOW, "mknod", {masked(1, S_IFMT, S_IFIFO)});
  policy.rule(SCMP_ACT_ALLOW, "mknodat", {masked(2, S_IFMT, S_IFIFO)});
  // Only on the calling process.
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
