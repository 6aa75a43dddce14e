// Guests on a machine whose cgroups stop taking what is written to them, in a child process with mounts of
// its own.
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

#include "tests/sandbox_cases/house.h"
#include "tests/sandbox_cases/in_child.h"

namespace remotist::volunteer::cases {
namespace {

void make_cgroups(bool read_only) {
  mount_attr change{};
  (read_only ? change.attr_set : change.attr_clr) = MOUNT_ATTR_RDONLY;
  must(::syscall(SYS_mount_setattr, AT_FDCWD, "/sys/fs/cgroup", AT_RECURSIVE, &change, sizeof change) == 0,
       "mount_setattr");
}

std::string told(const Seen& seen) {
  return seen.ending() + ": " + seen.verdict.message + "\n";
}

std::string plain_guests() {
  must(::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
       "unshare");
  World world{false};
  House house{world, Layers{}};
  std::string text = told(house.run("plain"));
  make_cgroups(true);
  for (int i = 0; i < 3; ++i) text += told(house.run("plain"));
  make_cgroups(false);
  text += told(house.run("plain"));
  return text;
}

}  // namespace

TEST_CASE("a guest that cannot enter its cgroup, or whose cgroup takes no limits, does not run") {
  if (::getuid() != 0 || !Cgroups{}.any()) {
    MESSAGE("this user has no cgroups");
    return;
  }
  std::istringstream said{in_child(plain_guests)};
  std::array<std::string, 5> lines;
  for (auto& line : lines) std::getline(said, line);
  CAPTURE(said.str());
  CHECK(lines[0] == "completed: ");
  // The first went to a spare guest, which was in its cgroup before.
  CHECK(lines[1].starts_with(
      "sandbox_failure: The sandbox could not be set up: the limits of the job's cgroup"));
  CHECK(lines[3].starts_with("sandbox_failure: The sandbox could not be set up: "));
  CHECK(lines[3].contains("cannot be made or entered: Read-only file system"));
  CHECK(lines[4] == "completed: ");
}

TEST_CASE("a cgroup says when it cannot be entered or limited") {
  const Cgroup none{{{"/nonexistent", false}}};
  CHECK_FALSE(none.admit(::getpid()));
  CHECK_FALSE(none.limit({}));
  const Cgroup unified{{{"/nonexistent", true}}};
  CHECK_FALSE(unified.admit(::getpid()));
  CHECK_FALSE(unified.limit({}));
}

}  // namespace remotist::volunteer::cases
