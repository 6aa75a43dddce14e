#include "volunteer/sandbox/cpu_sampler.h"

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

// One child after the other; a child has exited when the last writer of its pipe is gone.
[[noreturn]] void fork_children(bool wait) {
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

// The sampled time once the children have used theirs, or no more is counted.
std::int64_t sampled_ms(bool wait, std::int64_t enough_ms) {
  const pid_t parent = ::fork();
  if (parent == 0) fork_children(wait);
  CpuSampler sampler;
  sampler.start(Clock::now());
  std::minstd_rand random{7};
  const auto until = Clock::now() + std::chrono::seconds(20);
  std::int64_t before = -1;
  int unchanged = 0;
  while (Clock::now() < until && (sampler.ms() < enough_ms || unchanged < 10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds{std::uniform_int_distribution{25, 75}(random)});
    const auto ms = sampler.sample(parent, Clock::now());
    unchanged = ms == before ? unchanged + 1 : 0;
    before = ms;
  }
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  return sampler.ms();
}

}  // namespace

TEST_CASE("the time of children that are waited for is counted") {
  const auto ms = sampled_ms(true, kChildren * kEachMs * 9 / 10);
  CHECK(ms >= kChildren * kEachMs * 9 / 10);
  CHECK(ms <= kChildren * kEachMs * 3 / 2);
}

TEST_CASE("the time of children that are not waited for is estimated from the samples that see them") {
  const auto ms = sampled_ms(false, kChildren * kEachMs / 2);
  CHECK(ms >= kChildren * kEachMs / 2);
  CHECK(ms <= kChildren * kEachMs * 2);
}

TEST_CASE("a process that is gone has used no time") {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  CpuSampler sampler;
  sampler.start(Clock::now());
  CHECK(sampler.sample(gone, Clock::now()) == 0);
}
