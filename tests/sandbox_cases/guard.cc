#include "tests/sandbox_cases/guard.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/capability.h>
#include <linux/mount.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace remotist::volunteer::cases {
namespace {

namespace fs = std::filesystem;

void must(bool done, const std::string& what) {
  if (!done) throw std::system_error{errno, std::generic_category(), what};
}

// Limits by cgroups, where this process may make them; removed with the object.
class Bounds {
 public:
  Bounds() {
    const auto name = "remotist-guard-" + std::to_string(getpid());
    bound(fs::path{"/sys/fs/cgroup/pids"} / name, "pids.max", "1500");
    bound(fs::path{"/sys/fs/cgroup/memory"} / name, "memory.limit_in_bytes", "4G");
    // Without a limit: only separates the guests of concurrent guards.
    for (const auto* const other : {"cpu", "cpuacct"})
      bound(fs::path{"/sys/fs/cgroup"} / other / name, "", "");
  }
  ~Bounds() {
    for (const auto& folder : folders_) rmdir(folder.c_str());
  }
  Bounds(const Bounds&) = delete;
  Bounds& operator=(const Bounds&) = delete;

  void enter() const {
    for (const auto& folder : folders_) std::ofstream{folder / "cgroup.procs"} << getpid();
  }

 private:
  void bound(const fs::path& folder, const char* file, const char* limit) {
    if (mkdir(folder.c_str(), 0755) != 0) return;
    if (*file != '\0') std::ofstream{folder / file} << limit;
    folders_.push_back(folder);
  }

  std::vector<fs::path> folders_;
};

void map_users(pid_t child, uid_t uid, gid_t gid) {
  const auto proc = "/proc/" + std::to_string(child);
  const auto line = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
  const auto put = [&](const char* file, const std::string& text) {
    std::ofstream stream{proc + file};
    must(static_cast<bool>(stream << text << std::flush), proc + file);
  };
  if (uid == 0) {
    put("/uid_map", "0 0 4294967295");
    put("/gid_map", "0 0 4294967295");
    return;
  }
  put("/setgroups", "deny");
  put("/uid_map", line(uid));
  put("/gid_map", line(gid));
}

void bind_read_only(const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  must(mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0, "bind " + from.string());
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  must(syscall(SYS_mount_setattr, AT_FDCWD, to.c_str(), AT_RECURSIVE, &read_only, sizeof read_only) == 0,
       "read-only " + to.string());
}

// Makes 127.0.0.1 the name server.
void make_resolver(const fs::path& root) {
  std::ofstream{root / "run/resolv.conf"} << "nameserver 127.0.0.1\n";
  const auto place = root / "etc/resolv.conf";
  if (fs::is_symlink(place)) {
    auto real = fs::read_symlink(place);
    if (real.is_relative()) real = fs::path{"/etc"} / real;
    const auto inside = fs::path{root.string() + real.lexically_normal().string()};
    if (!inside.string().starts_with((root / "run").string())) return;
    fs::create_directories(inside.parent_path());
    fs::copy_file(root / "run/resolv.conf", inside, fs::copy_options::skip_existing);
  } else if (fs::exists(place)) {
    must(mount((root / "run/resolv.conf").c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0,
         "resolv.conf");
  }
}

void make_root(const fs::path& programs) {
  const fs::path root{"/tmp"};
  must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
  // Opened before /tmp is covered, because the programs may be below it.
  const int held = open(programs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  must(held >= 0, programs.string());
  must(mount("guard", root.c_str(), "tmpfs", 0, "size=1g,mode=0755") == 0, "tmpfs");
  for (const auto* const name : {"usr", "bin", "sbin", "lib", "lib64", "etc"})
    if (const auto from = fs::path{"/"} / name; fs::is_symlink(from)) {
      fs::copy_symlink(from, root / name);
    } else if (fs::exists(from)) {
      bind_read_only(from, root / name);
    }
  for (const auto* const name : {"null", "zero", "full", "random", "urandom"}) {
    fs::create_directories(root / "dev");
    std::ofstream{root / "dev" / name};
    must(mount((fs::path{"/dev"} / name).c_str(), (root / "dev" / name).c_str(), nullptr, MS_BIND, nullptr) ==
             0,
         name);
  }
  fs::create_directories(root / "dev/shm");
  must(mount("shm", (root / "dev/shm").c_str(), "tmpfs", 0, "size=1g,mode=1777") == 0, "shm");
  fs::create_directories(root / "proc");
  must(mount("proc", (root / "proc").c_str(), "proc", 0, nullptr) == 0, "proc");
  if (getuid() == 0 && fs::exists("/sys/fs/cgroup")) {
    fs::create_directories(root / "sys/fs/cgroup");
    must(mount("/sys/fs/cgroup", (root / "sys/fs/cgroup").c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0,
         "cgroup");
  }
  for (const auto* const name : {"tmp", "var/tmp", "run", "home", "root", "old"})
    fs::create_directories(root / name);
  fs::permissions(root / "tmp", fs::perms{01777});
  make_resolver(root);
  const auto inside = fs::path{root.string() + programs.string()};
  bind_read_only("/proc/self/fd/" + std::to_string(held), inside);
  close(held);
  must(chdir(root.c_str()) == 0 && syscall(SYS_pivot_root, ".", "old") == 0 &&
           umount2("old", MNT_DETACH) == 0 && chdir("/tmp") == 0,
       "pivot_root");
  rmdir("/old");
}

// A loopback with a second address, which identifies this network, and without privileged ports.
void make_network() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  must(ioctl(fd, SIOCSIFFLAGS, &request) == 0, "loopback");
  std::strcpy(request.ifr_name, "lo:1");
  auto& address = reinterpret_cast<sockaddr_in&>(request.ifr_addr);
  address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, "198.51.100.7", &address.sin_addr);
  must(ioctl(fd, SIOCSIFADDR, &request) == 0, "address");
  close(fd);
  std::ofstream{"/proc/sys/net/ipv4/ip_unprivileged_port_start"} << 0;
  must(sethostname("guarded", 7) == 0, "sethostname");
}

void drop_privileges() {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> none{};
  must(syscall(SYS_capset, &head, none.data()) == 0, "capset");
}

int status_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Process 1 of the container: reaps, and exits with the function's status.
[[noreturn]] void run_init(const fs::path& programs, const std::function<int()>& inside) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  make_root(programs);
  make_network();
  // Makes pids differ from those in a guest's own namespace.
  std::ofstream{"/proc/sys/kernel/ns_last_pid"} << 10000;
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    const rlimit memory{.rlim_cur = 8UL << 30, .rlim_max = 8UL << 30};
    setrlimit(RLIMIT_AS, &memory);
    if (getuid() != 0) {
      const rlimit processes{.rlim_cur = 1500, .rlim_max = 1500};
      setrlimit(RLIMIT_NPROC, &processes);
      drop_privileges();
      // Like a process that was started by exec and has never changed its privileges.
      prctl(PR_SET_DUMPABLE, 1);
    }
    _exit(inside());
  }
  for (;;) {
    int status = 0;
    const pid_t ended = wait(&status);
    if (ended == child) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
    if (ended < 0 && errno != EINTR) _exit(255);
  }
}

[[noreturn]] void leave(const GuardOptions& options, int told, int waiting,
                        const std::function<int()>& inside) {
  const auto programs = fs::read_symlink("/proc/self/exe").parent_path();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int spaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  if (options.own_users) spaces |= CLONE_NEWUSER;
  must(unshare(spaces) == 0, "unshare");
  char go = 0;
  must(write(told, "u", 1) == 1 && read(waiting, &go, 1) == 1, "the guard's parent");
  const pid_t first = fork();
  must(first >= 0, "fork");
  if (first == 0) run_init(programs, inside);
  _exit(status_of(first));
}

// Whether the child exited in time.
bool ends_within(pid_t child, std::chrono::seconds within) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd ended{.fd = fd, .events = POLLIN, .revents = 0};
  const bool in_time = poll(&ended, 1, static_cast<int>(within.count() * 1000)) == 1;
  close(fd);
  return in_time;
}

}  // namespace

int run_guarded(const GuardOptions& options, const std::function<int()>& inside) {
  std::array<int, 2> up{};
  std::array<int, 2> down{};
  must(pipe2(up.data(), O_CLOEXEC) == 0 && pipe2(down.data(), O_CLOEXEC) == 0, "pipe");
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  const Bounds bounds;
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    try {
      bounds.enter();
      leave(options, up[1], down[0], inside);
    } catch (const std::exception& error) {
      dprintf(STDERR_FILENO, "guard: %s\n", error.what());
      _exit(254);
    }
  }
  close(up[1]);
  close(down[0]);
  char ready = 0;
  if (read(up[0], &ready, 1) == 1) {
    if (options.own_users) map_users(child, uid, gid);
    must(write(down[1], "g", 1) == 1, "the guard");
  }
  close(up[0]);
  close(down[1]);
  if (!ends_within(child, options.within)) kill(child, SIGKILL);
  const int status = status_of(child);
  if (status == 254) throw std::runtime_error{"this machine cannot be guarded"};
  return status == 255 ? -1 : status;
}

}  // namespace remotist::volunteer::cases
