#include "market/service/new_machine.h"

#include <doctest/doctest.h>

#include "core/limits.h"

using namespace remotist;
using namespace remotist::market;

namespace {

template <class Change>
std::string machine_field_at_fault(Change change) {
  NewMachine machine;
  machine.name = "lab";
  change(machine);
  const auto checked = check_new_machine(machine);
  return checked.ok() ? "none" : checked.refusal().field;
}

}  // namespace

TEST_CASE("a machine's fields have limits, at which they are right and past which they are not") {
  const auto name = [](std::size_t bytes) {
    return machine_field_at_fault([&](NewMachine& m) { m.name = std::string(bytes, 'x'); });
  };
  CHECK(name(1) == "none");
  CHECK(name(limits::kMachineNameBytesMax) == "none");
  CHECK(name(0) == "name");
  CHECK(name(limits::kMachineNameBytesMax + 1) == "name");
  CHECK(machine_field_at_fault([](NewMachine& m) { m.name = "a\nb"; }) == "name");
  CHECK(machine_field_at_fault([](NewMachine& m) { m.cpu_cores = limits::kCpuCoresMax; }) == "none");
  CHECK(machine_field_at_fault([](NewMachine& m) { m.cpu_cores = limits::kCpuCoresMax + 1; }) == "cpu");
  CHECK(machine_field_at_fault([](NewMachine& m) { m.cpu_cores = 0; }) == "cpu");
  CHECK(machine_field_at_fault([](NewMachine& m) { m.ram_mb = limits::kRamMbMin - 1; }) == "ram");
  CHECK(machine_field_at_fault([](NewMachine& m) { m.disc_mb = limits::kDiscMbMax + 1; }) == "disc");
}

TEST_CASE("a price an hour becomes the nearest whole number of micro-credits a second") {
  CHECK(per_cpu_second(Credits::micro(3'600'000'000)).micro() == 1'000'000);
  CHECK(per_cpu_second(Credits::micro(1'000'000)).micro() == 278);  // 277.8
  CHECK(per_cpu_second(Credits::micro(1'799)).micro() == 0);
  CHECK(per_cpu_second(Credits::micro(1'800)).micro() == 1);
  CHECK(per_cpu_hour(Credits::micro(278)).micro() == 1'000'800);
  // The highest price there is does not overflow.
  CHECK(per_cpu_hour(per_cpu_second(Credits::micro(Credits::kCreditsMicroMax))).micro() > 0);
}
