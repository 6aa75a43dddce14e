#include "volunteer/sandbox/budget.h"

#include <algorithm>

namespace remotist::volunteer {

bool Budget::take(double amount, Time now) {
  refill(now);
  if (held_ < amount) return false;
  held_ -= amount;
  return true;
}

void Budget::charge(double amount, Time now) {
  refill(now);
  held_ -= amount;
}

bool Budget::in_debt(Time now) {
  refill(now);
  return held_ < 0;
}

void Budget::refill(Time now) {
  if (now <= at_) return;
  held_ = std::min(burst_, held_ + rate_ * std::chrono::duration<double>(now - at_).count());
  at_ = now;
}

}  // namespace remotist::volunteer
