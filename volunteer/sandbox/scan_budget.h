// The share of the agent's thread that may be spent on scanning guests' processes and folders, for all guests
// together, and the order in which guests are scanned. A guest can make its own scans slow; that must delay
// neither the agent's heartbeats nor, permanently, the scans of other guests. Pure; the caller passes the
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/token_bucket.h"

namespace remotist::volunteer {

class ScanBudget {
 public:
  using Time = TokenBucket::Time;
  static constexpr double kShare = 0.2;         // of the thread's time
  static constexpr double kBurstSeconds = 0.1;  // available at once

  explicit ScanBudget(Time now) : seconds_(kShare, kBurstSeconds, now) {}

  // The guests in the order in which to scan them.
  std::vector<std::uint32_t> in_turn(std::vector<std::uint32_t> guests) const;
  // Whether a scan may begin or continue. A scan may overrun the budget; then this is false until the budget
  // has recovered.
  bool has_time(Time now) { return !seconds_.in_debt(now); }
  void charge(Time::duration used, Time now);
  // There was no time for this guest: the next in_turn() begins with it.
  void stopped_at(std::uint32_t guest) { first_ = guest; }

 private:
  TokenBucket seconds_;
  std::uint32_t first_ = 0;
};

}  // namespace remotist::volunteer
