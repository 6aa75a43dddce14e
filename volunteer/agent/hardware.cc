#include "volunteer/agent/hardware.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <glob.h>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace remotist::volunteer {
namespace {

constexpr auto kPresentFor = std::chrono::minutes{5};

// Whether a terminal had input in the last minutes.
bool user_is_present() {
  glob_t terminals{};
  if (::glob("/dev/pts/[0-9]*", 0, nullptr, &terminals) != 0) return false;
  ::glob("/dev/tty[1-9]*", GLOB_APPEND, nullptr, &terminals);
  const auto now = std::chrono::system_clock::now();
  bool present = false;
  for (std::size_t i = 0; i < terminals.gl_pathc; ++i) {
    struct stat found{};
    if (::stat(terminals.gl_pathv[i], &found) != 0) continue;
    present |= now - std::chrono::system_clock::from_time_t(found.st_atime) < kPresentFor;
  }
  ::globfree(&terminals);
  return present;
}

double network_bytes() {
  std::ifstream file{"/proc/net/dev"};
  std::string line;
  double bytes = 0;
  while (std::getline(file, line)) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.find("lo:") != std::string::npos) continue;
    std::istringstream fields{line.substr(colon + 1)};
    double received = 0;
    double skipped = 0;
    double sent = 0;
    fields >> received;
    for (int i = 0; i < 7; ++i) fields >> skipped;
    fields >> sent;
    bytes += received + sent;
  }
  return bytes;
}

double cpu_seconds() {
  std::ifstream file{"/proc/stat"};
  std::string name;
  double user = 0;
  double nice = 0;
  double system = 0;
  file >> name >> user >> nice >> system;
  return (user + nice + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

Hardware hardware_at(const std::filesystem::path& folder) {
  struct sysinfo info{};
  ::sysinfo(&info);
  struct statvfs disc{};
  ::statvfs(folder.c_str(), &disc);
  return {.cpu_cores = std::max(1U, std::thread::hardware_concurrency()),
          .ram_mb = static_cast<std::int64_t>(info.totalram * info.mem_unit >> 20),
          .disc_mb_free = static_cast<std::int64_t>(disc.f_bavail * disc.f_frsize >> 20)};
}

std::string host_name() {
  std::string name(64, '\0');
  if (::gethostname(name.data(), name.size()) != 0) return "machine";
  name.resize(name.find_first_of('\0'));
  return name;
}

Gauges::Gauges(std::filesystem::path folder) : folder_(std::move(folder)), last_(counters()) {}

Gauges::Counters Gauges::counters() const {
  return {std::chrono::steady_clock::now(), cpu_seconds(), network_bytes()};
}

protocol::Beat Gauges::read() {
  const auto now = counters();
  const auto seconds = std::max(1e-3, std::chrono::duration<double>(now.at - last_.at).count());
  struct sysinfo info{};
  ::sysinfo(&info);
  struct statvfs disc{};
  ::statvfs(folder_.c_str(), &disc);
  protocol::Beat beat;
  beat.user_present = user_is_present();
  beat.cpu_used = std::max(0.0, (now.cpu_seconds - last_.cpu_seconds) / seconds);
  beat.ram_mb_used = static_cast<double>((info.totalram - info.freeram) * info.mem_unit) / (1 << 20);
  beat.disc_mb_used = static_cast<double>((disc.f_blocks - disc.f_bfree) * disc.f_frsize) / (1 << 20);
  beat.network_kb_per_s = std::max(0.0, (now.network_bytes - last_.network_bytes) / seconds / 1000);
  last_ = now;
  return beat;
}

}  // namespace remotist::volunteer
