// A token bucket: tokens arrive at a fixed rate and accumulate up to a burst. Pure; the caller passes the
// time. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>

namespace remotist {

class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  // Starts full: `burst` is the number of tokens that it holds at first and at most. Requires per_second > 0.
  TokenBucket(double per_second, double burst, Time now)
      : per_second_(per_second), burst_(burst), tokens_(burst), refilled_at_(now) {}

  [[nodiscard]] bool has(double amount, Time now) {
    refill(now);
    return tokens_ >= amount;
  }
  // Removes the tokens if there are enough, and returns whether there were.
  [[nodiscard]] bool try_take(double amount, Time now) {
    if (!has(amount, now)) return false;
    tokens_ -= amount;
    return true;
  }
  // Removes the tokens even if there are too few: the count goes below zero and recovers at the usual rate.
  void charge(double amount, Time now) {
    refill(now);
    tokens_ -= amount;
  }
  [[nodiscard]] bool in_debt(Time now) { return !has(0, now); }
  // When has(amount) becomes true if nothing is removed before; `now` if it is already. Requires
  // amount <= burst. May be a microsecond late, is never early.
  [[nodiscard]] Time available_at(double amount, Time now) {
    if (has(amount, now)) return now;
    const std::chrono::duration<double> wait{(amount - tokens_) / per_second_};
    return now + std::chrono::microseconds{1} + std::chrono::duration_cast<Clock::duration>(wait);
  }

 private:
  // A time before the last one adds nothing.
  void refill(Time now) {
    if (now <= refilled_at_) return;
    const std::chrono::duration<double> passed = now - refilled_at_;
    tokens_ = std::min(burst_, tokens_ + per_second_ * passed.count());
    refilled_at_ = now;
  }

  double per_second_;
  double burst_;
  double tokens_;
  Time refilled_at_;
};

}  // namespace remotist
