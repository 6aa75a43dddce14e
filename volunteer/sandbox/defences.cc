#include "volunteer/sandbox/defences.h"

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

// What a child found: 0, or the errno of what failed.
using Probe = int (*)();

// In a child with new namespaces, whose uids are mapped before it looks. System calls only: this process may
// have threads.
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
    const int found = probe();
    [[maybe_unused]] const auto sent = ::write(answer_write.get(), &found, sizeof found);
    ::_exit(0);
  }
  answer_write.reset();
  int found = 0;
  try {
    if (uids != nullptr) map_uids(child, *uids);
  } catch (const std::system_error& error) {
    found = error.code().value();
  }
  go_write.reset();
  pollfd look{answer_read.get(), POLLIN, 0};
  int said = ECHILD;
  if (::poll(&look, 1, kProbeMs) <= 0 || ::read(answer_read.get(), &said, sizeof said) != sizeof said)
    said = ECHILD;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return found != 0 ? found : said;
}

int nothing() {
  return 0;
}

int take_uid() {
  return ::syscall(SYS_setresgid, kGuestUid, kGuestUid, kGuestUid) == 0 &&
                 ::syscall(SYS_setresuid, kGuestUid, kGuestUid, kGuestUid) == 0
             ? 0
             : errno;
}

int mount_something() {
  ::syscall(SYS_setresuid, 0, 0, 0);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  return ::mount("probe", "/tmp", "tmpfs", MS_NOSUID, "size=64k") == 0 ? 0 : errno;
}

std::vector<std::string> probed_overlays;

// As the zygote does it, over each folder that it shares.
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

int take_clocks() {
  return ::unshare(0x80 /* CLONE_NEWTIME */) == 0 ? 0 : errno;
}

int be_first() {
  return ::getpid() == 1 ? 0 : EPERM;
}

int renounce() {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

const SeccompProgram* probed_policy = nullptr;

int filter() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  if (!load_policy(*probed_policy)) return errno;
  return ::unshare(CLONE_NEWUTS) == 0 || errno != EPERM ? ENOTSUP : 0;
}

Defence defence(const char* name, bool required, int problem, std::string_view does,
                std::string_view without) {
  Defence one{name, problem == 0, required, std::string(does)};
  if (problem != 0) one.words += std::format(" Not here: {}. {}", std::strerror(problem), without);
  return one;
}

constexpr std::string_view kUserNamespaceAdvice =
    "Without it no job is taken in. An administrator allows it with sysctl user.max_user_namespaces=10000 "
    "and, where "
    "they exist, kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; in a "
    "container, "
    "the container must be started with leave to do so (--privileged, or a seccomp profile that allows "
    "unshare and "
    "mount).";
constexpr std::string_view kCgroupAdvice =
    "Run the agent as root, or let systemd delegate a cgroup to it (Delegate=yes in its unit).";

void add_cgroups(std::vector<Defence>& all) {
  const Cgroups cgroups;
  const auto add = [&](const char* name, bool present, std::string_view does, std::string_view meaning) {
    all.push_back({name, present, false, std::string(does)});
    if (!present) {
      all.back().words +=
          std::format(" Not here: this process may use no such controller. {} {}", meaning, kCgroupAdvice);
    }
  };
  add("cgroup_memory", cgroups.memory(), "A cgroup holds the memory of all processes of a job together.",
      "Each process has its own limit, and the sum is looked at twice a second: jobs stay within bounds, but "
      "a "
      "short peak can pass them. What nothing else would count is refused: sockets among a job's own "
      "processes "
      "and shared memory without a file.");
  add("cgroup_processes", cgroups.processes(), "A cgroup counts the processes of a job.",
      "The limit of the user namespace counts them instead.");
  add("cgroup_cpu", cgroups.cpu(), "A cgroup gives a job no more cores than it asked for.",
      "A job with many threads can use more cores than it asked for; its CPU time is measured and limited "
      "all the "
      "same.");
}

void add_namespaces(std::vector<Defence>& all, const Uids& uids) {
  const auto in = [&uids](unsigned long flag, Probe probe) {
    return try_in_child(CLONE_NEWUSER | flag, &uids, probe);
  };
  all.push_back(defence("user_namespace", true, in(0, nothing),
                        "A user namespace lets the sandbox be built without privileges over the machine.",
                        kUserNamespaceAdvice));
  all.push_back(defence("mount_namespace", true, in(CLONE_NEWNS, mount_something),
                        "A mount namespace shows a job only R's own files, read-only, and the job's folder.",
                        kUserNamespaceAdvice));
  all.push_back(
      defence("pid_namespace", true, in(CLONE_NEWPID, be_first),
              "A pid namespace hides all other processes from a job, and ends all of its own with it.",
              kUserNamespaceAdvice));
  all.push_back(defence("network_namespace", true, in(CLONE_NEWNET, nothing),
                        "A network namespace without interfaces keeps a job off the network.",
                        kUserNamespaceAdvice));
  all.push_back(defence("ipc_namespace", true, in(CLONE_NEWIPC | CLONE_NEWUTS, nothing),
                        "An ipc namespace keeps a job from the shared memory and queues of others.",
                        kUserNamespaceAdvice));
}

void add_optional(std::vector<Defence>& all) {
  const Uids own{false, ::geteuid(), ::getegid(), 1};
  probed_overlays.clear();
  for (const auto& folder : host_folders(REMOTIST_R_HOME))
    probed_overlays.push_back(overlay_options(folder, "/tmp/empty"));
  all.push_back(
      defence("overlay", false, try_in_child(CLONE_NEWUSER | CLONE_NEWNS, &own, mount_overlays),
              "An overlay over R's files keeps a job's locks on them from other programs.",
              "Jobs cannot lock any file, which databases in files need. Linux 5.11 or newer is needed, and "
              "nothing else may be mounted within /usr/lib and the like."));
  all.push_back(defence("time_namespace", false, try_in_child(CLONE_NEWUSER, &own, take_clocks),
                        "A time namespace keeps a job from learning how long this machine has been up.",
                        "Jobs learn it. Linux 5.6 or newer is needed, built with CONFIG_TIME_NS."));
}

int probe_seccomp() {
  try {
    const auto policy = compile_policy({});
    probed_policy = &policy;
    return try_in_child(0, nullptr, filter);
  } catch (const std::exception&) {
    return ENOSYS;
  }
}

void add_discs(std::vector<Defence>& all) {
  all.push_back(defence(
      "disc_image", false, probe_disc(DiscKind::image),
      "Each job writes to a file system of the size that it asked for, in a file: the kernel refuses what is "
      "beyond it.",
      std::format(
          "Jobs that ask for little disc (some {} MB) get one in memory; the folders of others are "
          "looked at twenty times a second, so a job can pass its limit by what the disc takes between "
          "two looks. Run the agent as root, with loop devices and mke2fs (Debian's e2fsprogs).",
          (JobDiscs::kMemoryBytesMax >> 20) * 9 / 10)));
  all.push_back(
      defence("disc_memory", false, probe_disc(DiscKind::memory),
              "Where there are no images: a small job writes to a file system of its size in memory.",
              "Without it, and without disc_image, the folders of jobs are only looked at."));
}

std::vector<Defence> required_defences() {
  std::vector<Defence> all;
  const auto uids = choose_uids(1, "/");
  add_namespaces(all, {false, ::geteuid(), ::getegid(), 1});
  add_optional(all);
  all.push_back(
      defence("seccomp", true, probe_seccomp(),
              "A seccomp filter allows a job the system calls of ordinary programs and no others.",
              "Without it no job is taken in. The kernel must be built with CONFIG_SECCOMP_FILTER."));
  all.push_back(defence("no_new_privileges", true, try_in_child(0, nullptr, renounce),
                        "A job can gain no privileges, whatever program it starts.",
                        "Without it no job is taken in. Linux 3.5 or newer is needed."));
  if (::geteuid() == 0) {
    const int problem = uids.range ? try_in_child(CLONE_NEWUSER, &uids, take_uid) : ENOSPC;
    all.push_back(defence(
        "own_uids", true, problem,
        "Each job runs as a uid that nobody else on this machine has, never as root.",
        "Without it a job would be root to every file that it reached, and none is taken in. Run the "
        "agent as an ordinary user, or in a container whose user namespace holds some thousand uids."));
  }
  return all;
}

}  // namespace

std::vector<Defence> probe_defences() {
  auto all = required_defences();
  add_cgroups(all);
  add_discs(all);
  return all;
}

bool can_sandbox(const std::vector<Defence>& defences) {
  for (const auto& one : defences) {
    if (one.required && !one.present) return false;
  }
  return true;
}

std::string lacking_defences(const Layers& layers) {
  const auto wanted = [&layers](const std::string& name) {
    if (name == "mount_namespace") return layers.own_root;
    if (name == "pid_namespace") return layers.own_processes;
    if (name == "network_namespace") return layers.own_network;
    if (name == "ipc_namespace") return layers.own_ipc;
    if (name == "seccomp") return layers.seccomp;
    if (name == "no_new_privileges") return layers.no_privileges;
    return name == "user_namespace" || name == "own_uids" ? layers.own_uid : false;
  };
  std::string words;
  for (const auto& one : required_defences()) {
    if (one.present || !one.required || !wanted(one.name)) continue;
    words += std::format("{}{}: {}", words.empty() ? "" : "\n", one.name, one.words);
  }
  return words;
}

}  // namespace remotist::volunteer
