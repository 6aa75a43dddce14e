// Ends attempts and jobs whose lease, acceptance time or deadline has expired.
//
// After its start, and after any gap in its contact with the database, it declares no machine lost for one
// whole lease: while the database was unavailable, markets could not record beats.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/pg/connection.h"

namespace remotist::worker {

struct ReaperOptions {
  std::chrono::milliseconds accept_time;
  std::chrono::milliseconds interval;  // how often run_once() is called
};

class Reaper {
 public:
  using Clock = std::chrono::steady_clock;

  Reaper(const std::string& database_url, ReaperOptions options);

  // Throws pg::Fault.
  void run_once();

 private:
  // Whether the contact with the database has lasted for the longest lease.
  bool may_reap(Clock::time_point now);
  void clean_up(std::size_t (*step)(pg::Connection&));

  pg::Connection db_;
  const ReaperOptions options_;
  std::optional<Clock::time_point> since_;  // start of the contact without a gap
  Clock::time_point last_{};
};

}  // namespace remotist::worker
