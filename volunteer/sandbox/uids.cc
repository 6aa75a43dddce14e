#include "volunteer/sandbox/uids.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

namespace {

// Unused according to systemd's list of uid ranges.
constexpr std::uint64_t kRangeBegin = 1'900'000'000;
constexpr std::uint64_t kRangeStep = 1024;
constexpr std::uint64_t kRanges = 4096;

struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

// The ids that exist in this process's namespace: the extent that holds the wanted one, else the largest.
Extent extent_of(const char* map, std::uint64_t wanted) {
  std::ifstream file{map};
  Extent best;
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  while (file >> inside >> outside >> count) {
    if (wanted >= inside && wanted + kRangeStep <= inside + count) return {inside, count};
    if (count > best.count) best = {inside, count};
  }
  return best;
}

// The wanted ids, or the last of the extent when it does not have those.
std::optional<std::uint64_t> range_in(const Extent& extent, std::uint64_t wanted, std::uint64_t needed) {
  if (wanted >= extent.begin && wanted + needed <= extent.begin + extent.count) return wanted;
  if (extent.count < needed + 1000) return std::nullopt;
  return extent.begin + extent.count - needed;
}

void write_map(pid_t process, const char* name, const std::string& text) {
  const auto path = std::format("/proc/{}/{}", process, name);
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::system_error(errno, std::generic_category(),
                            std::format("{} of the zygote cannot be written", name));
  }
}

}  // namespace

Uids choose_uids(std::size_t guests, const std::filesystem::path& key) {
  const Uids alone{false, ::geteuid(), ::getegid(), guests};
  if (::geteuid() != 0) return alone;
  struct stat state{};
  ::stat(key.c_str(), &state);
  const std::uint64_t wanted = kRangeBegin + (state.st_ino % kRanges) * kRangeStep;
  const std::uint64_t needed = guests + 1;
  const auto uid = range_in(extent_of("/proc/self/uid_map", wanted), wanted, needed);
  const auto gid = range_in(extent_of("/proc/self/gid_map", wanted), wanted, needed);
  if (!uid || !gid || needed > kRangeStep) return alone;
  return {true, static_cast<uid_t>(*uid), static_cast<gid_t>(*gid), guests};
}

void map_uids(pid_t process, const Uids& uids) {
  if (!uids.range) {
    write_map(process, "setgroups", "deny");
    write_map(process, "uid_map", std::format("0 {} 1\n", uids.zygote));
    write_map(process, "gid_map", std::format("0 {} 1\n", uids.zygote_group));
    return;
  }
  write_map(process, "uid_map",
            std::format("0 {} 1\n{} {} {}\n", uids.zygote, kGuestUid, uids.zygote + 1, uids.guests));
  write_map(
      process, "gid_map",
      std::format("0 {} 1\n{} {} {}\n", uids.zygote_group, kGuestUid, uids.zygote_group + 1, uids.guests));
}

}  // namespace remotist::volunteer
