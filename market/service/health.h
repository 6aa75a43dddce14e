// Whether the database and the broker can be reached; read by /healthz. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>

namespace remotist::market {

class Health {
 public:
  std::atomic<bool> broker_up = false;
  std::atomic<bool> stopping = false;

  // The database has answered a probe.
  void database_answered() { database_answered_ = Clock::now().time_since_epoch(); }
  // It has answered within kFresh: a database that hangs counts as down.
  bool database_up() const { return Clock::now().time_since_epoch() - database_answered_.load() < kFresh; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kFresh{3};
  std::atomic<Clock::duration> database_answered_{Clock::duration{-kFresh}};
};

}  // namespace remotist::market
