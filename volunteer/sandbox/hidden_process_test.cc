// Processes that /proc hides from an agent without privileges, in both scans.
#include <array>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <functional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "volunteer/sandbox/deleted_files.h"
#include "volunteer/sandbox/memory_use.h"

using namespace remotist::volunteer;

namespace {

constexpr uid_t kNobody = 65'534;

// Not dumpable, as after the execution of a program that may not be read. Waits until it is killed.
pid_t make_hidden(int written, bool hidden) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  if (::prctl(PR_SET_DUMPABLE, hidden ? 0 : 1) != 0 || ::write(written, "x", 1) != 1) ::_exit(1);
  for (;;) ::pause();
}

// What `look` says of a process, as somebody without privileges sees it.
int seen_by_nobody(bool hidden, const std::function<int(pid_t)>& look) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t viewer = ::fork();
  if (viewer == 0) {
    if (::getuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(99);
    ::prctl(PR_SET_DUMPABLE, 1);  // setuid() has taken it
    const pid_t process = make_hidden(ends[1], hidden);
    char done = 0;
    if (::read(ends[0], &done, 1) != 1) ::_exit(98);
    const int result = look(process);
    ::kill(process, SIGKILL);
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(viewer, &status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

// In how many of three scans a process is hidden, one bit each.
int memory_scans(pid_t process, bool counted) {
  MemoryScan scan{100};
  int bits = 0;
  for (int i = 0; i < 3; ++i)
    bits = 2 * bits + static_cast<int>(scan.resume(process, counted, [] { return false; })->hidden);
  return bits;
}

}  // namespace

TEST_CASE("a process whose memory the kernel hides is an excess from the second scan on") {
  for (const bool counted : {false, true}) {
    CAPTURE(counted);
    CHECK(seen_by_nobody(true, [&](pid_t process) { return memory_scans(process, counted); }) == 0b011);
    CHECK(seen_by_nobody(false, [&](pid_t process) { return memory_scans(process, counted); }) == 0);
  }
  MemoryUse use;
  use.hidden = true;
  CHECK(memory_excess(use, GuestLimits{}).contains("cannot measure"));
}

TEST_CASE("the deleted files of a process that the kernel hides are not none") {
  const auto hidden = [](pid_t process) { return static_cast<int>(deleted_files_of(process, 1).hidden); };
  CHECK(seen_by_nobody(true, hidden) == 1);
  CHECK(seen_by_nobody(false, hidden) == 0);
}

TEST_CASE("a process that has exited is not hidden, whether or not somebody has waited for it") {
  for (const bool waited : {false, true}) {
    CAPTURE(waited);
    CHECK(seen_by_nobody(false, [&](pid_t process) {
            ::kill(process, SIGKILL);
            siginfo_t end{};
            ::waitid(P_PID, static_cast<id_t>(process), &end, WEXITED | (waited ? 0 : WNOWAIT));
            return memory_scans(process, false) + memory_scans(process, true) +
                   static_cast<int>(deleted_files_of(process, 1).hidden);
          }) == 0);
  }
}
