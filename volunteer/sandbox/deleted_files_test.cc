#include "volunteer/sandbox/deleted_files.h"

#include <array>
#include <csignal>
#include <doctest/doctest.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace remotist::volunteer;

namespace {

constexpr std::int64_t kFileBytes = 1 << 20;

// What the kernel gives one process is less than kMappingsMax; room for those of the test itself.
std::int64_t mappings_in_one() {
  std::int64_t most = 0;
  std::ifstream{"/proc/sys/vm/max_map_count"} >> most;
  return std::min<std::int64_t>(most, 65'530) - 5'000;
}

// Two neighbouring pages are one mapping only when both can be read.
void map(std::int64_t count) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = static_cast<std::size_t>(count) * page;
  void* const all = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) ::_exit(1);
  for (std::size_t at = 0; at < bytes; at += 2 * page)
    if (::mprotect(static_cast<char*>(all) + at, page, PROT_READ) != 0) ::_exit(1);
}

// Of a process whose children have so many mappings together.
DeletedFiles scan_with_mappings(std::int64_t count) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  int children = 0;
  const pid_t first = ::fork();
  if (first == 0) {
    ::setpgid(0, 0);
    for (; count > 0; count -= mappings_in_one()) {
      if (::fork() != 0) continue;
      map(std::min(count, mappings_in_one()));
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    for (;;) ::pause();
  }
  for (std::int64_t left = count; left > 0; left -= mappings_in_one()) ++children;
  char done = 0;
  for (int i = 0; i < children; ++i) CHECK(::read(ends[0], &done, 1) == 1);
  const auto found = deleted_files_of(first, kFileBytes);
  ::kill(-first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  return found;
}

}  // namespace

TEST_CASE("mappings are read up to a limit, and further ones count as one unmeasured file") {
  const auto few = scan_with_mappings(kMappingsMax - 10'000);
  CHECK_FALSE(few.unmeasured);
  CHECK(few.bytes == 0);
  const auto many = scan_with_mappings(kMappingsMax + 1);
  CHECK(many.unmeasured);
  CHECK(many.bytes == kFileBytes);
}
