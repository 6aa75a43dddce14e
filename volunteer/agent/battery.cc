#include "volunteer/agent/battery.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream from{file};
  std::string line;
  std::getline(from, line);
  return line;
}

std::optional<int> percent_in(const std::string& text) {
  int percent = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (read.ec != std::errc{} || percent < 0) return std::nullopt;
  return std::min(percent, 100);
}

}  // namespace

std::optional<Battery> read_battery(const fs::path& supplies) {
  int batteries = 0;
  Battery together{.percent = 0, .discharging = false};
  std::error_code unreadable;
  for (fs::directory_iterator at{supplies, unreadable}, end; !unreadable && at != end;
       at.increment(unreadable)) {
    if (first_line(at->path() / "type") != "Battery" || first_line(at->path() / "scope") == "Device")
      continue;
    const auto percent = percent_in(first_line(at->path() / "capacity"));
    if (!percent) continue;
    ++batteries;
    together.percent += *percent;
    together.discharging |= first_line(at->path() / "status") == "Discharging";
  }
  if (batteries == 0) return std::nullopt;
  together.percent /= batteries;
  return together;
}

bool is_battery_low(const std::optional<Battery>& battery, bool was_low, std::int64_t percent_min) {
  return battery && battery->discharging && (was_low || battery->percent < percent_min);
}

}  // namespace remotist::volunteer
