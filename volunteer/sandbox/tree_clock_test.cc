#include "volunteer/sandbox/tree_clock.h"

#include <chrono>
#include <csignal>
#include <doctest/doctest.h>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace remotist::volunteer;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kChildren = 25;
constexpr int kEachMs = 40;

[[noreturn]] void burn() {
  rusage used{};
  do {
    ::getrusage(RUSAGE_SELF, &used);
  } while (used.ru_utime.tv_sec == 0 && used.ru_utime.tv_usec + used.ru_stime.tv_usec < kEachMs * 1000);
  ::_exit(0);
}

// One child after the other; each is over when nobody holds its end of a pipe any more.
[[noreturn]] void breed(bool wait) {
  ::signal(SIGCHLD, wait ? SIG_DFL : SIG_IGN);
  for (int i = 0; i < kChildren; ++i) {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    const pid_t child = ::fork();
    if (child == 0) burn();
    ::close(ends[1]);
    char nothing = 0;
    if (::read(ends[0], &nothing, 1) != 0) ::_exit(1);
    ::close(ends[0]);
    if (wait) ::waitpid(child, nullptr, 0);
  }
  ::pause();
  ::_exit(0);
}

// What the clock shows once the time of all children, or of as many as can be, was spent.
std::int64_t seen_of(bool wait, std::int64_t enough_ms) {
  const pid_t parent = ::fork();
  if (parent == 0) breed(wait);
  TreeClock clock;
  clock.start(Clock::now());
  std::minstd_rand chance{7};
  const auto until = Clock::now() + std::chrono::seconds(20);
  std::int64_t before = -1;
  int unchanged = 0;
  while (Clock::now() < until && (clock.ms() < enough_ms || unchanged < 10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds{std::uniform_int_distribution{25, 75}(chance)});
    const auto ms = clock.look(parent, Clock::now());
    unchanged = ms == before ? unchanged + 1 : 0;
    before = ms;
  }
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  return clock.ms();
}

}  // namespace

TEST_CASE("the time of children that are waited for is counted") {
  const auto ms = seen_of(true, kChildren * kEachMs * 9 / 10);
  CHECK(ms >= kChildren * kEachMs * 9 / 10);
  CHECK(ms <= kChildren * kEachMs * 3 / 2);
}

TEST_CASE("the time of children that nobody waits for is estimated by those that are seen") {
  const auto ms = seen_of(false, kChildren * kEachMs / 2);
  CHECK(ms >= kChildren * kEachMs / 2);
  CHECK(ms <= kChildren * kEachMs * 2);
}

TEST_CASE("of a process that is gone there is nothing to count") {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  TreeClock clock;
  clock.start(Clock::now());
  CHECK(clock.look(gone, Clock::now()) == 0);
}
