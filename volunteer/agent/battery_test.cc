#include "volunteer/agent/battery.h"

#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <string>

#include "volunteer/agent/scratch_folder.h"

namespace remotist::volunteer {
namespace {

void add(const std::filesystem::path& supplies, const std::string& name,
         const std::map<std::string, std::string>& files) {
  std::filesystem::create_directories(supplies / name);
  for (const auto& [file, text] : files) std::ofstream{supplies / name / file} << text << "\n";
}

}  // namespace

TEST_CASE("a machine without a battery has none, whatever else supplies it") {
  const ScratchFolder scratch;
  CHECK_FALSE(read_battery(scratch.path / "missing"));
  add(scratch.path, "AC", {{"type", "Mains"}, {"online", "1"}});
  add(scratch.path, "mouse", {{"type", "Battery"}, {"scope", "Device"}, {"capacity", "3"}});
  add(scratch.path, "broken", {{"type", "Battery"}, {"capacity", "many"}});
  CHECK_FALSE(read_battery(scratch.path));
}

TEST_CASE("batteries count together, and discharge when one of them does") {
  const ScratchFolder scratch;
  add(scratch.path, "BAT0", {{"type", "Battery"}, {"capacity", "10"}, {"status", "Not charging"}});
  add(scratch.path, "BAT1", {{"type", "Battery"}, {"capacity", "50"}, {"status", "Discharging"}});
  const auto battery = read_battery(scratch.path);
  REQUIRE(battery);
  CHECK(battery->percent == 30);
  CHECK(battery->discharging);
}

TEST_CASE("a battery that charges does not discharge") {
  const ScratchFolder scratch;
  add(scratch.path, "BAT0", {{"type", "Battery"}, {"capacity", "5"}, {"status", "Charging"}});
  const auto battery = read_battery(scratch.path);
  REQUIRE(battery);
  CHECK(battery->percent == 5);
  CHECK_FALSE(battery->discharging);
}

TEST_CASE("a battery is low from below the owner's percentage until it does not discharge any more") {
  CHECK_FALSE(is_battery_low(std::nullopt, false, 20));
  CHECK_FALSE(is_battery_low(Battery{20, true}, false, 20));
  CHECK(is_battery_low(Battery{19, true}, false, 20));
  CHECK_FALSE(is_battery_low(Battery{19, false}, false, 20));
  CHECK(is_battery_low(Battery{30, true}, true, 20));
  CHECK_FALSE(is_battery_low(Battery{5, false}, true, 20));
  CHECK_FALSE(is_battery_low(std::nullopt, true, 20));
}

}  // namespace remotist::volunteer
