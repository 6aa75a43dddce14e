// The probe of defences on a machine that has one less, which is made by taking it away from a child process.
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

#include "tests/sandbox_cases/house.h"
#include "tests/sandbox_cases/in_child.h"
#include "tests/sandbox_cases/refusal.h"
#include "volunteer/sandbox/defences.h"

namespace remotist::volunteer::cases {
namespace {

using Names = std::set<std::string>;

// What the probe finds in a child process after `take`. Throws when the child cannot do that.
std::vector<Defence> probe_without(const std::function<void()>& take) {
  const auto said = in_child([&take] {
    std::ostringstream text;
    try {
      take();
      for (const auto& each : probe_defences())
        text << each.name << '\t' << each.present << '\t' << each.required << '\t' << each.words << '\n';
    } catch (const std::exception& error) {
      text << "error\t0\t0\t" << error.what() << '\n';
    }
    return text.str();
  });
  std::vector<Defence> found;
  std::istringstream lines{said};
  for (std::string line; std::getline(lines, line);) {
    Defence each;
    std::istringstream fields{line};
    fields >> each.name >> each.present >> each.required >> std::ws;
    std::getline(fields, each.words);
    if (each.name == "error") throw std::runtime_error{each.words};
    found.push_back(each);
  }
  return found;
}

Names absent(const std::vector<Defence>& defences) {
  Names names;
  for (const auto& each : defences)
    if (!each.present) names.insert(each.name);
  return names;
}

const std::vector<Defence>& of_this_machine() {
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

const Defence& named(const std::vector<Defence>& defences, const std::string& name) {
  const auto found = std::ranges::find(defences, name, &Defence::name);
  REQUIRE(found != defences.end());
  return *found;
}

// Takes it away and checks that the probe names it, and nothing else that was there before, but for what
// cannot be without it.
void names_exactly(const std::string& name, const std::function<void()>& take, const Names& with_it = {}) {
  CAPTURE(name);
  const auto& before = of_this_machine();
  if (!named(before, name).present) {
    MESSAGE("this machine is without " << name << " in any case");
    return;
  }
  const auto after = probe_without(take);
  Names missing;
  std::ranges::set_difference(absent(after), absent(before), std::inserter(missing, missing.end()));
  CHECK(missing.contains(name));
  for (const auto& other : missing) {
    INFO("also said to be absent: " << other << ": " << named(after, other).words);
    CHECK((other == name || with_it.contains(other)));
  }
  const auto& found = named(after, name);
  CHECK(found.words.contains("Not here: "));
  if (found.required) CHECK_FALSE(can_sandbox(after));
  if (!found.required && with_it.empty()) CHECK(can_sandbox(after) == can_sandbox(before));
}

// What the sandbox makes within its user namespace.
const Names kWithinIt{"mount_namespace", "pid_namespace", "network_namespace", "ipc_namespace",
                      "own_uids",        "overlay",       "time_namespace",    "disc_memory"};

}  // namespace

TEST_CASE("this machine's defences are named once each, with words") {
  Names names;
  for (const auto& each : of_this_machine()) {
    CHECK(names.insert(each.name).second);
    CHECK(each.words.size() > 20);
  }
  CHECK(can_sandbox(of_this_machine()));
}

TEST_CASE("a machine without user namespaces is told so") {
  names_exactly("user_namespace", [] { refuse_namespace(CLONE_NEWUSER); }, kWithinIt);
}

TEST_CASE("a machine without mount namespaces is told so") {
  names_exactly("mount_namespace", [] { refuse_namespace(CLONE_NEWNS); }, {"overlay", "disc_memory"});
}

TEST_CASE("a machine that may not mount is told so") {
  names_exactly("mount_namespace", refuse_mounts, {"overlay", "disc_image", "disc_memory"});
}

TEST_CASE("a machine without pid namespaces is told so") {
  names_exactly("pid_namespace", [] { refuse_namespace(CLONE_NEWPID); });
}

TEST_CASE("a machine without network namespaces is told so") {
  names_exactly("network_namespace", [] { refuse_namespace(CLONE_NEWNET); });
}

TEST_CASE("a machine without IPC namespaces is told so") {
  names_exactly("ipc_namespace", [] { refuse_namespace(CLONE_NEWIPC); });
}

TEST_CASE("a machine on which something is mounted among R's files is told that there is no overlay") {
  if (getuid() != 0) return;
  names_exactly("overlay", mount_among_files_of_r);
}

TEST_CASE("a zygote that gets no overlay or no time namespace says so once, and takes guests in") {
  const auto without = [](const std::function<void()>& take) {
    return in_child([&take] {
      take();
      World world{false};
      House house{world, Layers{}};
      std::string text = house.run("plain").ending();
      for (const auto& name : house.guesthouse().missing()) text += " " + name;
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

TEST_CASE("a machine without time namespaces is told so, and takes guests in") {
  names_exactly("time_namespace", [] { refuse_namespace(0x80 /* CLONE_NEWTIME */); });
}

TEST_CASE("a machine without seccomp is told so") {
  names_exactly("seccomp", refuse_seccomp);
}

TEST_CASE("a machine without no_new_privs is told so") {
  // The kernel gives nobody a filter who could still gain privileges.
  names_exactly("no_new_privileges", refuse_no_new_privileges, {"seccomp"});
}

TEST_CASE("a machine without cgroups is told so, and takes guests in") {
  for (const auto* const name : {"cgroup_memory", "cgroup_cpu", "cgroup_processes"})
    names_exactly(name, hide_cgroups, {"cgroup_memory", "cgroup_cpu", "cgroup_processes"});
}

TEST_CASE("a root agent without loop devices is told so, and takes guests in") {
  if (getuid() != 0) return;
  names_exactly("disc_image", [] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("/dev/null", "/dev/loop-control", nullptr, MS_BIND, nullptr) != 0)
      throw std::runtime_error{"/dev/loop-control cannot be hidden"};
  });
}

TEST_CASE("a machine that may not mount detached file systems is told so, and takes guests in") {
  names_exactly("disc_memory",
                [] {
                  Refusal refusal;
                  refusal.call(SCMP_SYS(fsmount));
                  refusal.begin();
                },
                {"disc_image"});
}

TEST_CASE("a root agent that may not take other uids is told so") {
  if (getuid() != 0) return;
  names_exactly("own_uids", [] { give_up_capability(CAP_SETUID); });
}

}  // namespace remotist::volunteer::cases
