// Guests on a machine whose cgroups stop taking what is written to them, in a child process with mounts of
// its own.
#include "volunteer/sandbox/cgroup.h"

#include <array>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox_cases/house.h"

namespace remotist::volunteer::cases {
namespace {

void must(bool done, const char* what) {
  if (!done) throw std::runtime_error{what};
}

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

std::string in_child(std::string (*what)()) {
  std::array<int, 2> ends{};
  must(::pipe2(ends.data(), O_CLOEXEC) == 0, "pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = what();
    } catch (const std::exception& error) {
      text = error.what();
    }
    _exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(ends[0], piece.data(), piece.size())) > 0;)
    said.append(piece.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return said;
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
