// So much in a second, with room for a burst and for one debt: what watching may use. Pure; the caller tells
// the time, in microseconds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace remotist::volunteer {

class Allowance {
 public:
  // `least` is what must be there for ready().
  Allowance(double per_second, double burst, double least)
      : per_us_(per_second / 1e6), burst_(burst), least_(least), held_(burst) {}

  bool ready(std::int64_t now_us) {
    refill(now_us);
    return held_ >= least_;
  }
  // Also more than there is: a debt that time pays off.
  void spend(double amount, std::int64_t now_us) {
    refill(now_us);
    held_ -= amount;
  }
  // When it will be ready, if nothing more is spent.
  std::int64_t ready_at(std::int64_t now_us) {
    refill(now_us);
    return held_ >= least_ ? now_us : now_us + 1 + static_cast<std::int64_t>((least_ - held_) / per_us_);
  }

 private:
  void refill(std::int64_t now_us) {
    if (now_us <= at_us_) return;
    held_ = std::min(burst_, held_ + per_us_ * static_cast<double>(now_us - at_us_));
    at_us_ = now_us;
  }

  double per_us_;
  double burst_;
  double least_;
  double held_;
  std::int64_t at_us_ = 0;
};

}  // namespace remotist::volunteer
