// So much in a second, with room for a burst: what a guest may say. Pure; the caller tells the time.
#pragma once

#include <chrono>

namespace remotist::volunteer {

class Budget {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `burst` is what it holds at first and at most.
  Budget(double per_second, double burst, Time now)
      : rate_(per_second), burst_(burst), held_(burst), at_(now) {}

  // Takes so much if it is there, and tells whether it was.
  bool take(double amount, Time now);
  // Takes it also when it is not there: a debt that time pays off.
  void charge(double amount, Time now);
  bool in_debt(Time now);

 private:
  void refill(Time now);

  double rate_;
  double burst_;
  double held_;
  Time at_;
};

}  // namespace remotist::volunteer
