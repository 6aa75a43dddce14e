// The machine's batteries, as Linux shows them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace remotist::volunteer {

struct Battery {
  int percent;       // of all batteries of the machine together
  bool discharging;  // any of them
};

inline constexpr auto kPowerSupplies = "/sys/class/power_supply";

// None: the machine has no battery that says how full it is. Batteries of devices, such as a mouse's, do not
// count. May block for some milliseconds.
std::optional<Battery> read_battery(const std::filesystem::path& supplies = kPowerSupplies);

// Whether jobs are to be handed over. Once that is so it stays so, whatever the percentage, until nothing
// discharges any more.
bool is_battery_low(const std::optional<Battery>& battery, bool was_low, std::int64_t percent_min);

}  // namespace remotist::volunteer
