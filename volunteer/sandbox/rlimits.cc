#include "volunteer/sandbox/rlimits.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace remotist::volunteer {

namespace {

constexpr std::int64_t kMiB = 1 << 20;

bool set(__rlimit_resource what, std::int64_t value) {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return false;
  const rlim_t limit = std::min(static_cast<rlim_t>(std::max<std::int64_t>(value, 0)), now.rlim_max);
  const rlimit both{limit, limit};
  return ::setrlimit(what, &both) == 0;
}

}  // namespace

std::int64_t r_heap_mb(const GuestLimits& limits) {
  return limits.ram_mb;
}

std::int64_t address_space_bytes(const GuestLimits& limits, std::int64_t mapped_before_bytes) {
  return mapped_before_bytes + (limits.ram_mb + limits.ram_mb / 10 + 32) * kMiB;
}

std::int64_t cgroup_memory_bytes(const GuestLimits& limits) {
  return (limits.ram_mb + limits.ram_mb / 4 + 128) * kMiB;
}

std::int64_t disc_bytes_fatal(const GuestLimits& limits) {
  return limits.disc_mb * kMiB + limits.disc_mb * kMiB / 10;
}

std::int64_t checkpoint_bytes_max(const GuestLimits& limits) {
  return limits.ram_mb * kMiB + disc_bytes_fatal(limits);
}

bool set_rlimits(const GuestLimits& limits, std::int64_t mapped_before_bytes, bool resumable) {
  const auto file_bytes = resumable ? checkpoint_bytes_max(limits) : disc_bytes_fatal(limits);
  bool good = set(RLIMIT_CORE, 0) && set(RLIMIT_FSIZE, file_bytes) &&
              set(RLIMIT_NPROC, limits.processes_max) && set(RLIMIT_NOFILE, limits.descriptors_max) &&
              set(RLIMIT_AS, address_space_bytes(limits, mapped_before_bytes)) && set(RLIMIT_MEMLOCK, kMiB) &&
              set(RLIMIT_MSGQUEUE, 0) && set(RLIMIT_RTPRIO, 0) && set(RLIMIT_SIGPENDING, 1024);
  // The host measures all processes together and kills earlier; this bounds a process that it never samples.
  if (limits.cpu_ms_max) good = good && set(RLIMIT_CPU, *limits.cpu_ms_max / 1000 + 5);
  return good;
}

std::int64_t mapped_bytes_now(int proc) {
  char text[64] = {};
  const int file = ::openat(proc, "self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1024 * kMiB;
  const auto got = ::read(file, text, sizeof text - 1);
  ::close(file);
  return got > 0 ? std::atoll(text) * ::sysconf(_SC_PAGESIZE) : 1024 * kMiB;
}

}  // namespace remotist::volunteer
