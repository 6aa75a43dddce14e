// Guests on a machine whose cgroups become read-only, in a child process with its own mount namespace.
#include "volunteer/sandbox/cgroup.h"

#include <array>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sandbox_cases/case_runner.h"
#include "tests/sandbox_cases/in_child.h"

namespace remotist::volunteer::cases {
namespace {

void make_cgroups(bool read_only) {
  mount_attr change{};
  (read_only ? change.attr_set : change.attr_clr) = MOUNT_ATTR_RDONLY;
  must(::syscall(SYS_mount_setattr, AT_FDCWD, "/sys/fs/cgroup", AT_RECURSIVE, &change, sizeof change) == 0,
       "mount_setattr");
}

std::string line_of(const CaseResult& seen) {
  return seen.ending() + ": " + seen.verdict.message + "\n";
}

std::string plain_guests() {
  must(::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
       "unshare");
  CanaryHost host{false};
  CaseRunner runner{host, Protections{}};
  std::string text = line_of(runner.run("plain"));
  make_cgroups(true);
  for (int i = 0; i < 3; ++i) text += line_of(runner.run("plain"));
  make_cgroups(false);
  text += line_of(runner.run("plain"));
  return text;
}

}  // namespace

TEST_CASE("a guest that cannot enter its cgroup, or whose cgroup refuses limits, does not run") {
  if (::getuid() != 0 || !Cgroups{}.any()) {
    MESSAGE("this user has no cgroups");
    return;
  }
  std::istringstream output{in_child(plain_guests)};
  std::array<std::string, 5> lines;
  for (auto& line : lines) std::getline(output, line);
  CAPTURE(output.str());
  CHECK(lines[0] == "completed: ");
  // The first job ran on a spare that was in its cgroup already.
  CHECK(lines[1].starts_with(
      "sandbox_failure: The sandbox could not be set up: the limits of the job's cgroup"));
  CHECK(lines[3].starts_with("sandbox_failure: The sandbox could not be set up: "));
  CHECK(lines[3].contains("cannot be made or entered: Read-only file system"));
  CHECK(lines[4] == "completed: ");
}

TEST_CASE("adding a process or limits to a missing cgroup fails") {
  const Cgroup none{{{"/nonexistent", false}}};
  CHECK_FALSE(none.add(::getpid()));
  CHECK_FALSE(none.limit({}));
  const Cgroup unified{{{"/nonexistent", true}}};
  CHECK_FALSE(unified.add(::getpid()));
  CHECK_FALSE(unified.limit({}));
}

}  // namespace remotist::volunteer::cases
