// So much a second, saved up for a while: what is not used now may be used later, up to a bound. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace remotist::market {

class Allowance {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  // Begins full.
  Allowance(std::int64_t per_second, std::int64_t seconds_saved, Time now)
      : per_second_(static_cast<double>(per_second)),
        most_(static_cast<double>(per_second * seconds_saved)),
        left_(most_),
        at_(now) {}

  // Whether so much is there. take() requires it.
  [[nodiscard]] bool has(std::size_t amount, Time now) {
    const std::chrono::duration<double> passed = now - at_;
    at_ = now;
    left_ = std::min(most_, left_ + per_second_ * passed.count());
    return static_cast<double>(amount) <= left_;
  }
  void take(std::size_t amount) { left_ -= static_cast<double>(amount); }

 private:
  double per_second_;
  double most_;
  double left_;
  Time at_;
};

}  // namespace remotist::market
