#include "volunteer/agent/machine_software.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <sys/utsname.h>
#include <system_error>

#include "core/limits.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDescriptionLinesMax = 200;
constexpr std::size_t kListEntryBytes = 3;  // of JSON, in addition to the text

// The value of a field of a DESCRIPTION file, on one line.
std::string field_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return {};
  line.remove_prefix(name.size());
  const auto from = line.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  const auto to = line.find_last_not_of(" \t\r");
  return std::string{line.substr(from, to - from + 1)};
}

struct Package {
  std::string name;
  std::string version;
};

// As names and versions of packages are.
bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

Package read_package(const fs::path& folder) {
  std::ifstream file{folder / "DESCRIPTION"};
  Package package;
  std::string line;
  for (std::size_t lines = 0; lines < kDescriptionLinesMax && std::getline(file, line); ++lines) {
    if (package.name.empty()) package.name = field_of(line, "Package:");
    if (package.version.empty()) package.version = field_of(line, "Version:");
    if (!package.name.empty() && !package.version.empty()) return package;
  }
  return {};
}

}  // namespace

std::vector<fs::path> guest_libraries(const fs::path& r_home) {
  // As /etc/R/Renviron of Debian has them, which guests get (root.cc); elsewhere R has the last one only.
  return {"/usr/local/lib/R/site-library", r_home / "site-library", "/usr/lib/R/site-library",
          r_home / "library"};
}

MachineSoftware read_machine_software(const std::vector<fs::path>& libraries) {
  MachineSoftware software;
  utsname system{};
  if (::uname(&system) == 0)
    software.architecture = std::string{system.machine}.substr(0, limits::kArchitectureBytesMax);
  for (const auto& library : libraries) {
    std::error_code unreadable;
    for (fs::directory_iterator at{library, unreadable}, end; !unreadable && at != end;
         at.increment(unreadable)) {
      auto [name, version] = read_package(at->path());
      if (!is_word(name) || !is_word(version) ||
          name.size() + 1 + version.size() > limits::kPackageBytesMax ||
          software.packages.size() >= limits::kPackagesMax)
        continue;
      software.packages.try_emplace(std::move(name), std::move(version));
    }
  }
  // The package base has R's own version.
  if (const auto base = software.packages.find("base");
      base != software.packages.end() && base->second.size() <= limits::kRVersionBytesMax)
    software.r_version = base->second;
  return software;
}

MachineSoftware read_machine_software() {
  return read_machine_software(guest_libraries(REMOTIST_R_HOME));
}

void describe(const MachineSoftware& software, protocol::Hello& hello, std::size_t bytes_max) {
  hello.r_version = software.r_version;
  hello.architecture = software.architecture;
  hello.packages.clear();
  for (const auto& [name, version] : software.packages) {
    auto text = name + " " + version;
    const auto bytes = text.size() + kListEntryBytes;
    if (bytes > bytes_max) return;
    bytes_max -= bytes;
    hello.packages.push_back(std::move(text));
  }
}

}  // namespace remotist::volunteer
