// Whether what the market stands on is there. Each part is written by whoever knows and read by /healthz.
#pragma once

#include <atomic>
#include <chrono>

namespace remotist::market {

class Health {
 public:
  std::atomic<bool> broker_up = false;
  std::atomic<bool> stopping = false;

  // The database has answered a probe just now.
  void database_answered() { database_answered_ = Clock::now().time_since_epoch(); }
  // It has answered of late: one that hangs without an error is down too.
  bool database_up() const { return Clock::now().time_since_epoch() - database_answered_.load() < kFresh; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kFresh{3};
  std::atomic<Clock::duration> database_answered_{Clock::duration{-kFresh}};
};

}  // namespace remotist::market
