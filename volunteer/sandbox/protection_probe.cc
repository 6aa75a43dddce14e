#include "volunteer/sandbox/protection_probe.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <functional>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "volunteer/sandbox/cgroup.h"
#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/job_disc.h"
#include "volunteer/sandbox/policy.h"
#include "volunteer/sandbox/root.h"
#include "volunteer/sandbox/uids.h"

namespace remotist::volunteer {

namespace {

constexpr int kProbeMs = 5'000;

// Runs in a child; returns 0, or the errno of what failed.
using Probe = int (*)();

// Runs the probe in a child with new namespaces, after its uids are mapped. The child makes system calls
// only, because this process may have threads.
int try_in_child(unsigned long namespaces, const Uids* uids, Probe probe) {
  std::array<int, 2> go{};
  std::array<int, 2> answer{};
  if (::pipe2(go.data(), O_CLOEXEC) != 0) return errno;
  const Descriptor go_read{go[0]};
  Descriptor go_write{go[1]};
  if (::pipe2(answer.data(), O_CLOEXEC) != 0) return errno;
  const Descriptor answer_read{answer[0]};
  Descriptor answer_write{answer[1]};
  const auto child =
      static_cast<pid_t>(::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (child < 0) return errno;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(go_write.get());
    char byte = 0;
    [[maybe_unused]] const auto got = ::read(go_read.get(), &byte, 1);
    const int result = probe();
    [[maybe_unused]] const auto sent = ::write(answer_write.get(), &result, sizeof result);
    ::_exit(0);
  }
  answer_write.reset();
  int map_error = 0;
  try {
    if (uids != nullptr) map_uids(child, *uids);
  } catch (const std::system_error& error) {
    map_error = error.code().value();
  }
  go_write.reset();
  pollfd readable{answer_read.get(), POLLIN, 0};
  int result = ECHILD;
  if (::poll(&readable, 1, kProbeMs) <= 0 ||
      ::read(answer_read.get(), &result, sizeof result) != sizeof result)
    result = ECHILD;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return map_error != 0 ? map_error : result;
}

int succeed() {
  return 0;
}

int set_guest_uid() {
  return ::syscall(SYS_setresgid, kGuestUid, kGuestUid, kGuestUid) == 0 &&
                 ::syscall(SYS_setresuid, kGuestUid, kGuestUid, kGuestUid) == 0
             ? 0
             : errno;
}

int mount_tmpfs_on_tmp() {
  ::syscall(SYS_setresuid, 0, 0, 0);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  return ::mount("probe", "/tmp", "tmpfs", MS_NOSUID, "size=64k") == 0 ? 0 : errno;
}

std::vector<std::string> probed_overlays;

// As the zygote does, over each folder of the host that guests see.
int mount_overlays() {
  ::syscall(SYS_setresuid, 0, 0, 0);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("probe", "/tmp", "tmpfs", MS_NOSUID, "size=64k") != 0 || ::mkdir("/tmp/empty", 0755) != 0 ||
      ::mkdir("/tmp/at", 0755) != 0)
    return errno;
  for (const auto& options : probed_overlays) {
    if (::mount("probe", "/tmp/at", "overlay", MS_RDONLY | MS_NOSUID, options.c_str()) != 0) return errno;
  }
  return 0;
}

int unshare_time() {
  return ::unshare(0x80 /* CLONE_NEWTIME */) == 0 ? 0 : errno;
}

int check_pid_1() {
  return ::getpid() == 1 ? 0 : EPERM;
}

int set_no_new_privileges() {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

const SeccompProgram* probed_policy = nullptr;

int load_filter() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  if (!load_policy(*probed_policy)) return errno;
  return ::unshare(CLONE_NEWUTS) == 0 || errno != EPERM ? ENOTSUP : 0;
}

Protection protection(const char* name, bool required, int error, std::string_view does,
                      std::string_view without) {
  Protection one{name, error == 0, required, std::string(does)};
  if (error != 0) one.description += std::format(" Not here: {}. {}", std::strerror(error), without);
  return one;
}

constexpr std::string_view kUserNamespaceAdvice =
    "Without it no job is accepted. An administrator allows it with sysctl user.max_user_namespaces=10000 "
    "and, where "
    "they exist, kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; in a "
    "container, "
    "the container must be started with permission to do so (--privileged, or a seccomp profile that allows "
    "unshare and "
    "mount).";
constexpr std::string_view kCgroupAdvice =
    "Run the agent as root, or let systemd delegate a cgroup to it (Delegate=yes in its unit).";

void add_cgroups(std::vector<Protection>& all) {
  const Cgroups cgroups;
  const auto add = [&](const char* name, bool present, std::string_view does, std::string_view meaning) {
    all.push_back({name, present, false, std::string(does)});
    if (!present) {
      all.back().description +=
          std::format(" Not here: this process may use no such controller. {} {}", meaning, kCgroupAdvice);
    }
  };
  add("cgroup_memory", cgroups.memory(), "A cgroup holds the memory of all processes of a job together.",
      "Each process has its own limit, and the sum is measured twice a second: a short peak can exceed the "
      "limit. Memory that cannot be measured so is refused: sockets between a job's own processes and shared "
      "memory without a file.");
  add("cgroup_processes", cgroups.processes(), "A cgroup counts the processes of a job.",
      "The limit of the user namespace counts them instead.");
  add("cgroup_cpu", cgroups.cpu(), "A cgroup gives a job no more cores than it asked for.",
      "A job with many threads can use more cores than it asked for; its CPU time is still measured and "
      "limited.");
}

void add_namespaces(std::vector<Protection>& all, const Uids& uids) {
  const auto in = [&uids](unsigned long flag, Probe probe) {
    return try_in_child(CLONE_NEWUSER | flag, &uids, probe);
  };
  all.push_back(protection("user_namespace", true, in(0, succeed),
                           "A user namespace lets the sandbox be built without privileges over the machine.",
                           kUserNamespaceAdvice));
  all.push_back(
      protection("mount_namespace", true, in(CLONE_NEWNS, mount_tmpfs_on_tmp),
                 "A mount namespace shows a job only R's own files, read-only, and the job's folder.",
                 kUserNamespaceAdvice));
  all.push_back(
      protection("pid_namespace", true, in(CLONE_NEWPID, check_pid_1),
                 "A pid namespace hides all other processes from a job, and ends all of its own with it.",
                 kUserNamespaceAdvice));
  all.push_back(protection("network_namespace", true, in(CLONE_NEWNET, succeed),
                           "A network namespace without interfaces keeps a job off the network.",
                           kUserNamespaceAdvice));
  all.push_back(protection("ipc_namespace", true, in(CLONE_NEWIPC | CLONE_NEWUTS, succeed),
                           "An ipc namespace keeps a job from the shared memory and queues of others.",
                           kUserNamespaceAdvice));
}

void add_optional(std::vector<Protection>& all) {
  const Uids own{false, ::geteuid(), ::getegid(), 1};
  probed_overlays.clear();
  for (const auto& folder : host_folders(REMOTIST_R_HOME))
    probed_overlays.push_back(overlay_options(folder, "/tmp/empty"));
  all.push_back(protection(
      "overlay", false, try_in_child(CLONE_NEWUSER | CLONE_NEWNS, &own, mount_overlays),
      "An overlay over R's files keeps a job's locks on them from other programs.",
      "Jobs cannot lock any file, which databases in files need. Linux 5.11 or newer is needed, and "
      "nothing else may be mounted within /usr/lib and the like."));
  all.push_back(protection("time_namespace", false, try_in_child(CLONE_NEWUSER, &own, unshare_time),
                           "A time namespace keeps a job from learning how long this machine has been up.",
                           "Jobs learn it. Linux 5.6 or newer is needed, built with CONFIG_TIME_NS."));
}

int probe_seccomp() {
  try {
    const auto policy = compile_policy({});
    probed_policy = &policy;
    return try_in_child(0, nullptr, load_filter);
  } catch (const std::exception&) {
    return ENOSYS;
  }
}

void add_discs(std::vector<Protection>& all) {
  all.push_back(protection(
      "disc_image", false, probe_disc(DiscKind::image),
      "Each job writes to a file system of the size that it asked for, in a file: the kernel refuses to "
      "store more.",
      std::format(
          "Jobs that ask for at most some {} MB of disc get one in memory; the folders of others are "
          "measured twenty times a second, so a job can exceed its limit by what it writes between two "
          "measurements. Run the agent as root, with loop devices and mke2fs (Debian's e2fsprogs).",
          (JobDiscs::kMemoryBytesMax >> 20) * 9 / 10)));
  all.push_back(protection(
      "disc_memory", false, probe_disc(DiscKind::memory),
      "Without disc_image: a job with a small disc writes to a file system of that size in memory.",
      "Without both, the folders of all jobs are measured twenty times a second."));
}

std::vector<Protection> probe_required() {
  std::vector<Protection> all;
  const auto uids = choose_uids(1, "/");
  add_namespaces(all, {false, ::geteuid(), ::getegid(), 1});
  add_optional(all);
  all.push_back(
      protection("seccomp", true, probe_seccomp(),
                 "A seccomp filter allows a job the system calls of ordinary programs and no others.",
                 "Without it no job is accepted. The kernel must be built with CONFIG_SECCOMP_FILTER."));
  all.push_back(protection("no_new_privileges", true, try_in_child(0, nullptr, set_no_new_privileges),
                           "A job can gain no privileges, whatever program it starts.",
                           "Without it no job is accepted. Linux 3.5 or newer is needed."));
  if (::geteuid() == 0) {
    const int error = uids.range ? try_in_child(CLONE_NEWUSER, &uids, set_guest_uid) : ENOSPC;
    all.push_back(protection(
        "own_uids", true, error,
        "Each job runs as a uid that nobody else on this machine has, never as root.",
        "Without it a job would be root to every file that it reached, so none is accepted. Run the "
        "agent as an ordinary user, or in a container whose user namespace has some thousand uids."));
  }
  return all;
}

}  // namespace

std::vector<Protection> probe_protections() {
  auto all = probe_required();
  add_cgroups(all);
  add_discs(all);
  return all;
}

bool can_sandbox(const std::vector<Protection>& protections) {
  for (const auto& one : protections) {
    if (one.required && !one.present) return false;
  }
  return true;
}

std::string missing_protections(const Protections& protections) {
  const auto wanted = [&protections](const std::string& name) {
    if (name == "mount_namespace") return protections.own_root;
    if (name == "pid_namespace") return protections.own_processes;
    if (name == "network_namespace") return protections.own_network;
    if (name == "ipc_namespace") return protections.own_ipc;
    if (name == "seccomp") return protections.seccomp;
    if (name == "no_new_privileges") return protections.no_privileges;
    return name == "user_namespace" || name == "own_uids" ? protections.own_uid : false;
  };
  std::string text;
  for (const auto& one : probe_required()) {
    if (one.present || !one.required || !wanted(one.name)) continue;
    text += std::format("{}{}: {}", text.empty() ? "" : "\n", one.name, one.description);
  }
  return text;
}

}  // namespace remotist::volunteer
