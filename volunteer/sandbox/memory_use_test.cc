#include "volunteer/sandbox/memory_use.h"

#include <array>
#include <csignal>
#include <cstring>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <functional>
#include <malloc.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "volunteer/sandbox/rlimits.h"

using namespace remotist::volunteer;

namespace {

constexpr std::size_t kFilled = 64 << 20;
constexpr std::int64_t kFilledKb = kFilled >> 10;

void fill() {
  void* const memory = ::mmap(nullptr, kFilled, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  std::memset(memory, 1, kFilled);
}

constexpr std::size_t kLocksMax = 100;

MemoryUse complete_scan(pid_t process, bool counted = false) {
  MemoryScan scan{kLocksMax};
  return scan.resume(process, counted, [] { return false; }).value();
}

// Of one byte each, with a byte between two.
void take_locks(std::size_t count) {
  const int file = ::memfd_create("locked", 0);
  struct flock one{};
  one.l_type = F_WRLCK;
  one.l_len = 1;
  for (std::size_t i = 0; i < count; ++i, one.l_start += 2)
    if (::fcntl(file, F_SETLK, &one) != 0) ::_exit(1);
}

// A child that does something and then waits until it has been scanned.
class Child {
 public:
  explicit Child(const std::function<void(int pipe_end)>& what) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    ::malloc_trim(0);  // what earlier tests freed must not count as the child's memory
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends[0]);
      what(ends[1]);
      report_and_wait(ends[1]);
    }
    ::close(ends[1]);
    char done = 0;
    REQUIRE(::read(ends[0], &done, 1) == 1);
    ::close(ends[0]);
  }
  ~Child() {
    ::kill(-process_, SIGKILL);
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t process() const { return process_; }

  [[noreturn]] static void report_and_wait(int pipe_end) {
    if (::write(pipe_end, "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }

 private:
  pid_t process_ = -1;
};

int pipe_of_thread = -1;

}  // namespace

TEST_CASE("memory that a process shares with its child counts once") {
  const Child child{[](int) {
    ::setpgid(0, 0);
    fill();
    if (::fork() == 0)
      for (;;) ::pause();
  }};
  const auto use = complete_scan(child.process());
  CHECK(use.kb > kFilledKb * 9 / 10);
  CHECK(use.kb < kFilledKb * 15 / 10);
}

TEST_CASE("memory of a process whose first thread is gone counts") {
  const Child child{[](int pipe_end) {
    pipe_of_thread = pipe_end;
    pthread_t thread{};
    ::pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          ::usleep(50'000);  // until the first thread is gone
          fill();
          Child::report_and_wait(pipe_of_thread);
        },
        nullptr);
    ::syscall(SYS_exit, 0);
  }};
  CHECK(complete_scan(child.process()).kb > kFilledKb * 9 / 10);
}

TEST_CASE("a child that still has its parent's memory does not count it twice") {
  const Child child{[](int pipe_end) {
    ::setpgid(0, 0);
    fill();
    if (::vfork() == 0) Child::report_and_wait(pipe_end);
  }};
  const auto use = complete_scan(child.process());
  CHECK(use.kb > kFilledKb * 9 / 10);
  CHECK(use.kb < kFilledKb * 15 / 10);
}

TEST_CASE("pipes count once each, with what they can hold") {
  const auto pipes = [](int count) {
    const Child child{[count](int) {
      std::array<int, 2> ends{};
      for (int i = 0; i < count; ++i)
        if (::pipe(ends.data()) != 0) ::_exit(1);
      ::setpgid(0, 0);
      if (::fork() == 0)
        for (;;) ::pause();
    }};
    return complete_scan(child.process());
  };
  const auto few = pipes(2);
  const auto many = pipes(102);
  CHECK(many.pipes == few.pipes + 100);
  CHECK(many.kb > few.kb + 100 * 50);
}

TEST_CASE("locks on files count in every process, also where a cgroup counts the rest, up to one too many") {
  const auto locks = [](std::size_t each, bool counted) {
    const Child child{[each](int) {
      ::setpgid(0, 0);
      std::array<int, 2> done{};
      if (::pipe(done.data()) != 0) ::_exit(1);
      if (::fork() == 0) {
        take_locks(each);
        Child::report_and_wait(done[1]);
      }
      take_locks(each);
      char byte = 0;
      if (::flock(::memfd_create("whole", 0), LOCK_EX) != 0 || ::read(done[0], &byte, 1) != 1) ::_exit(1);
    }};
    return complete_scan(child.process(), counted);
  };
  for (const bool counted : {false, true}) {
    CAPTURE(counted);
    CHECK(locks(0, counted).locks == 1);
    CHECK(locks(49, counted).locks == 99);
    CHECK(locks(500, counted).locks == kLocksMax + 1);
    CHECK((locks(0, counted).kb == 0) == counted);
  }
}

TEST_CASE("a suspended scan resumes where it stopped") {
  const Child child{[](int) {
    ::setpgid(0, 0);
    fill();
    for (int i = 0; i < 3; ++i)
      if (::fork() == 0)
        for (;;) ::pause();
  }};
  MemoryScan scan{kLocksMax};
  int allowed = 0;
  int asked = 0;
  std::optional<MemoryUse> use;
  for (int rounds = 0; !use && rounds < 10; ++rounds) {
    allowed = 1;
    use = scan.resume(child.process(), false, [&] {
      ++asked;
      return allowed-- <= 0;
    });
  }
  REQUIRE(use);
  CHECK(asked == 4 + 3);  // four processes, and three times no more
  CHECK(use->kb > kFilledKb * 9 / 10);
}

TEST_CASE("memory, pipes and locks may reach their limits, and one more is an excess") {
  GuestLimits limits;
  const auto most = cgroup_memory_bytes(limits) / 1024;
  CHECK(memory_excess({most, 0}, limits).empty());
  CHECK(memory_excess({most + 1, 0}, limits).contains("memory"));
  CHECK(memory_excess({0, static_cast<std::size_t>(limits.pipes_max)}, limits).empty());
  CHECK(memory_excess({0, static_cast<std::size_t>(limits.pipes_max) + 1}, limits).contains("256 pipes"));
  CHECK(memory_excess({0, 0, static_cast<std::size_t>(limits.locks_max)}, limits).empty());
  CHECK(memory_excess({0, 0, static_cast<std::size_t>(limits.locks_max) + 1}, limits).contains("1000 locks"));
}
