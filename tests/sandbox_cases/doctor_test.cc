// The probe of protections on machines that lack one, simulated in a child process.
#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <functional>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "tests/sandbox_cases/case_runner.h"
#include "tests/sandbox_cases/in_child.h"
#include "tests/sandbox_cases/refusal.h"
#include "volunteer/sandbox/protection_probe.h"

namespace remotist::volunteer::cases {
namespace {

using Names = std::set<std::string>;

// What the probe finds in a child process after `remove`. Throws when that fails.
std::vector<Protection> probe_without(const std::function<void()>& remove) {
  const auto output = in_child([&remove] {
    std::ostringstream text;
    try {
      remove();
      for (const auto& each : probe_protections())
        text << each.name << '\t' << each.present << '\t' << each.required << '\t' << each.description
             << '\n';
    } catch (const std::exception& error) {
      text << "error\t0\t0\t" << error.what() << '\n';
    }
    return text.str();
  });
  std::vector<Protection> found;
  std::istringstream lines{output};
  for (std::string line; std::getline(lines, line);) {
    Protection each;
    std::istringstream fields{line};
    fields >> each.name >> each.present >> each.required >> std::ws;
    std::getline(fields, each.description);
    if (each.name == "error") throw std::runtime_error{each.description};
    found.push_back(each);
  }
  return found;
}

Names absent(const std::vector<Protection>& protections) {
  Names names;
  for (const auto& each : protections)
    if (!each.present) names.insert(each.name);
  return names;
}

const std::vector<Protection>& of_this_machine() {
  static const auto found = probe_without([] {});
  return found;
}

void refuse_namespace(std::uint64_t flag) {
  Refusal refusal;
  refusal.when(SCMP_SYS(unshare), 0, flag, flag);
  refusal.when(SCMP_SYS(clone), 0, flag, flag);
  refusal.begin();
}

void mount_among_files_of_r() {
  must(unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
       "unshare");
  must(mount("none", "/usr/share/doc", "tmpfs", 0, nullptr) == 0, "/usr/share/doc");
}

void refuse_seccomp() {
  Refusal refusal;
  refusal.call(SCMP_SYS(seccomp));
  refusal.when(SCMP_SYS(prctl), 0, 0xffffffff, PR_SET_SECCOMP);
  refusal.begin();
}

void refuse_no_new_privileges() {
  Refusal refusal;
  refusal.when(SCMP_SYS(prctl), 0, 0xffffffff, PR_SET_NO_NEW_PRIVS);
  refusal.begin();
}

void refuse_mounts() {
  Refusal refusal;
  for (const int call : {SCMP_SYS(mount), SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsmount)})
    refusal.call(call);
  refusal.begin();
}

void give_up_capability(unsigned capability) {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (syscall(SYS_capget, &head, sets.data()) != 0) throw std::runtime_error{"capget"};
  for (const auto set : {&__user_cap_data_struct::effective, &__user_cap_data_struct::permitted})
    sets.at(capability / 32).*set &= ~(1U << capability % 32);
  if (syscall(SYS_capset, &head, sets.data()) != 0) throw std::runtime_error{"capset"};
}

void hide_cgroups() {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", "/sys/fs/cgroup", "tmpfs", 0, nullptr) != 0)
    throw std::runtime_error{"an empty /sys/fs/cgroup cannot be mounted"};
}

const Protection& named(const std::vector<Protection>& protections, const std::string& name) {
  const auto found = std::ranges::find(protections, name, &Protection::name);
  REQUIRE(found != protections.end());
  return *found;
}

// Removes a protection and checks that the probe reports it as missing, and nothing else but what depends on
// it.
void names_exactly(const std::string& name, const std::function<void()>& remove,
                   const Names& dependent = {}) {
  CAPTURE(name);
  const auto& before = of_this_machine();
  if (!named(before, name).present) {
    MESSAGE("this machine is without " << name << " anyway");
    return;
  }
  const auto after = probe_without(remove);
  Names missing;
  std::ranges::set_difference(absent(after), absent(before), std::inserter(missing, missing.end()));
  CHECK(missing.contains(name));
  for (const auto& other : missing) {
    INFO("also reported as absent: " << other << ": " << named(after, other).description);
    CHECK((other == name || dependent.contains(other)));
  }
  const auto& found = named(after, name);
  CHECK(found.description.contains("Not here: "));
  if (found.required) CHECK_FALSE(can_sandbox(after));
  if (!found.required && dependent.empty()) CHECK(can_sandbox(after) == can_sandbox(before));
}

// What the sandbox makes in its user namespace.
const Names kNeedUserNamespace{"mount_namespace", "pid_namespace", "network_namespace", "ipc_namespace",
                               "own_uids",        "overlay",       "time_namespace",    "disc_memory"};

}  // namespace

TEST_CASE("this machine's protections are listed once each, with a description") {
  Names names;
  for (const auto& each : of_this_machine()) {
    CHECK(names.insert(each.name).second);
    CHECK(each.description.size() > 20);
  }
  CHECK(can_sandbox(of_this_machine()));
}

TEST_CASE("a machine without user namespaces reports that") {
  names_exactly("user_namespace", [] { refuse_namespace(CLONE_NEWUSER); }, kNeedUserNamespace);
}

TEST_CASE("a machine without mount namespaces reports that") {
  names_exactly("mount_namespace", [] { refuse_namespace(CLONE_NEWNS); }, {"overlay", "disc_memory"});
}

TEST_CASE("a machine that may not mount reports that") {
  names_exactly("mount_namespace", refuse_mounts, {"overlay", "disc_image", "disc_memory"});
}

TEST_CASE("a machine without pid namespaces reports that") {
  names_exactly("pid_namespace", [] { refuse_namespace(CLONE_NEWPID); });
}

TEST_CASE("a machine without network namespaces reports that") {
  names_exactly("network_namespace", [] { refuse_namespace(CLONE_NEWNET); });
}

TEST_CASE("a machine without IPC namespaces reports that") {
  names_exactly("ipc_namespace", [] { refuse_namespace(CLONE_NEWIPC); });
}

TEST_CASE("a machine on which something is mounted among R's files reports that there is no overlay") {
  if (getuid() != 0) return;
  names_exactly("overlay", mount_among_files_of_r);
}

TEST_CASE("a zygote without overlays or a time namespace reports that, and accepts guests") {
  const auto without = [](const std::function<void()>& remove) {
    return in_child([&remove] {
      remove();
      CanaryHost host{false};
      CaseRunner runner{host, Protections{}};
      std::string text = runner.run("plain").ending();
      for (const auto& name : runner.sandbox().missing()) text += " " + name;
      return text;
    });
  };
  std::string always = "completed";
  for (const auto* const name : {"overlay", "time_namespace"})
    if (!named(of_this_machine(), name).present) always += std::string{" "} + name;
  CHECK(without([] {}) == always);
  CHECK(without([] { refuse_namespace(0x80 /* CLONE_NEWTIME */); }).ends_with(" time_namespace"));
  if (getuid() == 0) CHECK(without(mount_among_files_of_r).starts_with("completed overlay"));
}

TEST_CASE("a machine without time namespaces reports that, and accepts guests") {
  names_exactly("time_namespace", [] { refuse_namespace(0x80 /* CLONE_NEWTIME */); });
}

TEST_CASE("a machine without seccomp reports that") {
  names_exactly("seccomp", refuse_seccomp);
}

TEST_CASE("a machine without no_new_privs reports that") {
  // The kernel gives nobody a filter who could still gain privileges.
  names_exactly("no_new_privileges", refuse_no_new_privileges, {"seccomp"});
}

TEST_CASE("a machine without cgroups reports that, and accepts guests") {
  for (const auto* const name : {"cgroup_memory", "cgroup_cpu", "cgroup_processes"})
    names_exactly(name, hide_cgroups, {"cgroup_memory", "cgroup_cpu", "cgroup_processes"});
}

TEST_CASE("a root agent without loop devices reports that, and accepts guests") {
  if (getuid() != 0) return;
  names_exactly("disc_image", [] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("/dev/null", "/dev/loop-control", nullptr, MS_BIND, nullptr) != 0)
      throw std::runtime_error{"/dev/loop-control cannot be hidden"};
  });
}

TEST_CASE("a machine that may not mount detached file systems reports that, and accepts guests") {
  names_exactly("disc_memory",
                [] {
                  Refusal refusal;
                  refusal.call(SCMP_SYS(fsmount));
                  refusal.begin();
                },
                {"disc_image"});
}

TEST_CASE("a root agent that may not take other uids reports that") {
  if (getuid() != 0) return;
  names_exactly("own_uids", [] { give_up_capability(CAP_SETUID); });
}

}  // namespace remotist::volunteer::cases
