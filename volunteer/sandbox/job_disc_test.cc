#include "volunteer/sandbox/job_disc.h"

#include <cerrno>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fstream>
#include <linux/mount.h>
#include <optional>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/eventually.h"
#include "volunteer/sandbox/mounts.h"

using namespace remotist;
using namespace remotist::volunteer;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

bool has_images() {
  static const bool has = probe_disc(DiscKind::image) == 0;
  if (!has) MESSAGE("this user can make no images");
  return has;
}

// How many bytes can be written, a block at a time.
std::int64_t fill(const fs::path& file) {
  const Descriptor opened{::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)};
  const std::string block(4096, 'x');
  std::int64_t written = 0;
  ssize_t got = 0;
  while ((got = ::write(opened.get(), block.data(), block.size())) > 0) written += got;
  CHECK(errno == ENOSPC);
  return written;
}

// A small detached disc that stands for the machine's.
class SmallDisc {
 public:
  explicit SmallDisc(std::int64_t bytes) : mount_(mount_tmpfs(bytes, 100)) {}
  fs::path path() const { return "/proc/self/fd/" + std::to_string(mount_.get()); }

 private:
  Descriptor mount_;
};

// Attaches it in a temporary mount namespace and appends a line to a file on it. Returns the number of lines.
int lines_after_visit(const Descriptor& mount) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int spaces = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(spaces) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::syscall(SYS_move_mount, mount.get(), "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) != 0)
      ::_exit(255);
    const int file = ::open("/tmp/visits", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
    ::_exit(::write(file, "\n", 1) == 1 ? static_cast<int>(::lseek(file, 0, SEEK_END)) : 254);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

void holds_what_it_should(JobDiscs& discs, const DiscSize& size) {
  const auto disc = discs.make(size);
  REQUIRE(disc);
  CHECK_FALSE(disc->full());
  const auto written = fill(disc->path() / "file");
  CHECK(written >= size.bytes);
  CHECK(written <= size.bytes + size.bytes / 20 + 3 * kMiB);
  CHECK(disc->full() == Limit::disc);
}

}  // namespace

TEST_CASE("a disc in memory holds as many bytes and files as it should, and no more") {
  JobDiscs discs{"/nonexistent"};
  holds_what_it_should(discs, {5 * kMiB, 100});
  const auto disc = discs.make({5 * kMiB, 100});
  REQUIRE(disc);
  CHECK(disc->kind() == DiscKind::memory);
  int made = 0;
  while (made < 1000 && std::ofstream{disc->path() / std::to_string(made)}) ++made;
  CHECK(made >= 100);
  CHECK(made < 130);
  CHECK(disc->full() == Limit::inodes);
}

TEST_CASE("a disc is in memory only up to so many bytes") {
  JobDiscs discs{"/nonexistent"};
  CHECK(discs.make({JobDiscs::kMemoryBytesMax, 100}) != nullptr);
  CHECK(discs.make({JobDiscs::kMemoryBytesMax + 1, 100}) == nullptr);
}

TEST_CASE("an image holds as many bytes and files as it should, and no more") {
  if (!has_images()) return;
  JobDiscs discs{"/tmp"};
  for (const auto& size :
       {DiscSize{kMiB, 110'000}, DiscSize{22 * kMiB, 1'100}, DiscSize{110 * kMiB, 110'000}}) {
    CAPTURE(size.bytes);
    holds_what_it_should(discs, size);
  }
  const auto disc = discs.make({5 * kMiB, 100});
  REQUIRE(disc);
  CHECK(disc->kind() == DiscKind::image);
  int made = 0;
  while (made < 1000 && std::ofstream{disc->path() / std::to_string(made)}) ++made;
  CHECK(made >= 100);
  CHECK(made < 200);
  CHECK(disc->full() == Limit::inodes);
}

TEST_CASE("what is deleted and only mapped takes room on an image, until it is let go") {
  if (!has_images()) return;
  JobDiscs discs{"/tmp"};
  const auto disc = discs.make({10 * kMiB, 100});
  REQUIRE(disc);
  const auto file = disc->path() / "file";
  fill(file);
  Descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, opened.get(), 0);
  REQUIRE(page != MAP_FAILED);
  opened.reset();
  fs::remove(file);
  CHECK(disc->full() == Limit::disc);
  ::munmap(page, 4096);
  CHECK_FALSE(disc->full());
}

TEST_CASE("an image goes to the next job of its size only when it is empty and small") {
  if (!has_images()) return;
  JobDiscs discs{"/tmp"};
  const DiscSize size{50 * kMiB, 100};
  const auto device_of = [](const JobDisc& disc) {
    struct stat state{};
    ::stat(disc.path().c_str(), &state);
    return state.st_dev;
  };
  auto disc = discs.make(size);
  const auto first = device_of(*disc);
  fs::create_directory(disc->path() / "job");
  fs::remove_all(disc->path() / "job");
  disc.reset();
  disc = discs.make(size);
  CHECK(device_of(*disc) == first);
  SUBCASE("not empty") {
    fs::create_directory(disc->path() / "job");
  }
  SUBCASE("not small") {
    fill(disc->path() / "file");
    ::sync();
    fs::remove(disc->path() / "file");
  }
  const auto other = discs.make(size);
  disc.reset();
  const auto third = discs.make(size);
  CHECK(fs::is_empty(third->path() / "lost+found"));
  CHECK_FALSE(fs::exists(third->path() / "job"));
  CHECK(device_of(*third) != device_of(*other));
}

TEST_CASE("images are made again once what kept this machine from it has passed") {
  if (!has_images()) return;
  JobDiscs discs{"/tmp"};
  const DiscSize size{5 * kMiB, 100};
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const int next = ::dup(STDERR_FILENO);
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto without = discs.make(size);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  CHECK(without == nullptr);
  CHECK(discs.make(size)->kind() == DiscKind::image);
}

TEST_CASE("a disc whose first guest is gone can be attached by the next, or the attempt fails") {
  for (const auto* const images : {"/nonexistent", "/tmp"}) {
    JobDiscs discs{images};
    const auto disc = discs.make({5 * kMiB, 100});
    REQUIRE(disc);
    CAPTURE(static_cast<int>(disc->kind()));
    CHECK(lines_after_visit(disc->for_guest()) == 1);
    std::optional<Descriptor> again;
    try {
      again = disc->for_guest();
    } catch (const std::system_error& refused) {
      CHECK(refused.code() == std::errc::device_or_resource_busy);
      CHECK(disc->kind() == DiscKind::memory);
    }
    if (again) CHECK(lines_after_visit(*again) == 2);
  }
}

TEST_CASE("an image knows what it lost because the machine's disc was full, and is not used again") {
  if (!has_images()) return;
  const SmallDisc machine{12 * kMiB};
  JobDiscs discs{machine.path()};
  const DiscSize size{5 * kMiB, 100};
  auto disc = discs.make(size);
  REQUIRE(disc->kind() == DiscKind::image);
  std::ofstream{disc->path() / "before"} << std::string(kMiB, 'x');
  CHECK(disc->lost_writes() == 0);
  fill(machine.path() / "of_others");
  std::ofstream during{disc->path() / "during"};
  during << std::string(2 * kMiB, 'x');
  during.close();
  CHECK(during.good());
  CHECK(disc->lost_writes() == ENOSPC);
  fs::remove(machine.path() / "of_others");
  CHECK(disc->lost_writes() == ENOSPC);
  fs::remove(disc->path() / "before");
  fs::remove(disc->path() / "during");
  disc.reset();
  disc = discs.make(size);
  CHECK(disc->kind() == DiscKind::image);
  CHECK(disc->lost_writes() == 0);
}

TEST_CASE("no image is made where those in use may still take the room that is left") {
  if (!has_images()) return;
  const SmallDisc machine{300 * kMiB};
  JobDiscs discs{machine.path()};
  const DiscSize size{100 * kMiB, 100};
  auto first = discs.make(size);
  const auto second = discs.make(size);
  REQUIRE(first->kind() == DiscKind::image);
  REQUIRE(second->kind() == DiscKind::image);
  CHECK_THROWS_AS(discs.make(size), std::system_error);
  CHECK(discs.make({JobDiscs::kMemoryBytesMax, 100})->kind() == DiscKind::image);
  CHECK_THROWS_AS(discs.make({JobDiscs::kMemoryBytesMax + (30 * kMiB), 100}), std::system_error);
  // Written data is no longer free space, and must not count twice.
  fill(second->path() / "file");
  CHECK(second->lost_writes() == 0);
  const auto small = discs.make({JobDiscs::kMemoryBytesMax, 100});
  CHECK(small->kind() == DiscKind::image);
  // A small disc is made in memory instead.
  CHECK(discs.make({JobDiscs::kMemoryBytesMax, 100})->kind() == DiscKind::memory);
  first.reset();
  first = discs.make(size);
  CHECK(first->kind() == DiscKind::image);
}

TEST_CASE("a process that is killed leaves neither a mount nor a loop device nor a file of its discs") {
  if (!has_images()) return;
  const std::string folder = [] {
    std::string name = "/tmp/job-disc-XXXXXX";
    return std::string{::mkdtemp(name.data())};
  }();
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    JobDiscs discs{folder};
    const auto disc = discs.make({20 * kMiB, 100});
    std::ofstream{disc->path() / "file"} << "something";
    struct stat state{};
    ::stat(disc->path().c_str(), &state);
    const unsigned device = minor(state.st_dev);
    [[maybe_unused]] const auto sent = ::write(pipe[1], &device, sizeof device);
    for (;;) ::pause();
  }
  unsigned number = 0;
  REQUIRE(::read(pipe[0], &number, sizeof number) == sizeof number);
  const auto backing = "/sys/block/loop" + std::to_string(number) + "/loop/backing_file";
  CHECK(fs::exists(backing));
  CHECK(fs::is_empty(folder));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(test::eventually([&] { return !fs::exists(backing); }));
  CHECK(fs::is_empty(folder));
  fs::remove(folder);
}
