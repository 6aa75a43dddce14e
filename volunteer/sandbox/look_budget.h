// How much time an agent's thread gives to looking at guests' processes and folders, all guests together, and
// whose turn it is. A guest can make a look at it take long; that must cost neither the beats nor, for ever,
// the looks at others. Pure; the caller tells the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "volunteer/sandbox/budget.h"

namespace remotist::volunteer {

class LookBudget {
 public:
  using Time = Budget::Time;
  static constexpr double kShare = 0.2;         // of the thread's time
  static constexpr double kBurstSeconds = 0.1;  // at once

  explicit LookBudget(Time now) : seconds_(kShare, kBurstSeconds, now) {}

  // These, in the order in which they are to be looked at.
  std::vector<std::uint32_t> in_turn(std::vector<std::uint32_t> guests) const;
  // Whether there is time for a look, or for going on with one. One look may take more than is left: then
  // there is none until that is made up for.
  bool left(Time now) { return !seconds_.in_debt(now); }
  void spend(Time::duration used, Time now);
  // There was no time left for this guest: next time it comes first.
  void stopped_at(std::uint32_t guest) { first_ = guest; }

 private:
  Budget seconds_;
  std::uint32_t first_ = 0;
};

}  // namespace remotist::volunteer
