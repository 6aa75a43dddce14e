// A core/token_bucket.h in the units of watching: time in microseconds, and a number of tokens below which
// nothing may be spent. An amount larger than the remaining tokens can be spent; ready() is then false until
// the rate has made up for it.
//
// An object belongs to one thread. Invariants: times do not decrease from call to call. Who spends
// only when ready() spends over any time t at most burst + per_second * t, and one amount more. ready() is
// true from ready_at() on.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/token_bucket.h"

namespace remotist::volunteer {

// The time of steady_clock, in which everything about watching is counted.
inline std::int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

class RecordBudget {
 public:
  // ready() needs `least` tokens.
  RecordBudget(double per_second, double burst, double least)
      : bucket_(per_second, burst, {}), least_(least) {}

  bool ready(std::int64_t now_us) { return bucket_.has(least_, time_of(now_us)); }
  void spend(double amount, std::int64_t now_us) { bucket_.charge(amount, time_of(now_us)); }
  // When it will be ready, if nothing more is spent.
  std::int64_t ready_at(std::int64_t now_us) {
    const auto at = bucket_.available_at(least_, time_of(now_us)).time_since_epoch();
    return std::chrono::ceil<std::chrono::microseconds>(at).count();
  }

 private:
  static TokenBucket::Time time_of(std::int64_t us) {
    return TokenBucket::Time{std::chrono::microseconds{us}};
  }

  TokenBucket bucket_;
  double least_;
};

}  // namespace remotist::volunteer
