#include "volunteer/sandbox/scan_budget.h"

#include <algorithm>

namespace remotist::volunteer {

std::vector<std::uint32_t> ScanBudget::in_turn(std::vector<std::uint32_t> guests) const {
  std::ranges::sort(guests);
  std::ranges::rotate(guests, std::ranges::lower_bound(guests, first_));
  return guests;
}

void ScanBudget::charge(Time::duration used, Time now) {
  seconds_.charge(std::chrono::duration<double>(used).count(), now);
}

}  // namespace remotist::volunteer
