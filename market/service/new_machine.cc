#include "market/service/new_machine.h"

#include "core/limits.h"
#include "market/service/checks.h"

namespace remotist::market {
namespace {

constexpr std::int64_t kSecondsPerHour = 3600;

}  // namespace

Result<void> check_new_machine(const NewMachine& machine) {
  if (auto r = check_name("name", machine.name, limits::kMachineNameBytesMax); !r) return r;
  if (auto r = check_range("cpu", machine.cpu_cores, 1, limits::kCpuCoresMax, "cores"); !r) return r;
  if (auto r = check_range("ram", machine.ram_mb, limits::kRamMbMin, limits::kRamMbMax, "MB"); !r) return r;
  return check_range("disc", machine.disc_mb, limits::kDiscMbMin, limits::kDiscMbMax, "MB");
}

Credits per_cpu_second(Credits per_cpu_hour) {
  return Credits::micro((per_cpu_hour.micro() + kSecondsPerHour / 2) / kSecondsPerHour);
}

Credits per_cpu_hour(Credits per_cpu_second) {
  return Credits::micro(per_cpu_second.micro() * kSecondsPerHour);
}

}  // namespace remotist::market
