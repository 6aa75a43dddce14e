// Looks every moment for leases, acceptances and deadlines that have run out.
//
// After its own start, and after any gap in its contact with the database, it declares nobody lost for one
// whole lease: while the database was away, markets could not write down who was there.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/pg/session.h"

namespace remotist::worker {

struct ReaperOptions {
  std::chrono::milliseconds accept_time;
  std::chrono::milliseconds interval;  // how often round() is called
};

class Reaper {
 public:
  using Clock = std::chrono::steady_clock;

  Reaper(const std::string& database_url, ReaperOptions options);

  // Throws pg::Fault.
  void round();

 private:
  // Whether the contact has lasted for the longest lease.
  bool may_reap(Clock::time_point now);
  void tidy(std::size_t (*step)(pg::Session&));

  pg::Session db_;
  const ReaperOptions options_;
  std::optional<Clock::time_point> since_;  // the contact has lasted without a gap
  Clock::time_point last_{};
};

}  // namespace remotist::worker
