// Commits what machines tell of watched variables in groups, as ReportRecorder does with what they report of
// their attempts: whatever came while the last group was committed is the next one. Each message stands or
// falls alone; those of one job stay in order.
//
// A database that is away is waited for: messages are kept until it has answered.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "market/service/metrics.h"
#include "market/store/partial_records.h"

namespace remotist::market {

class PartialRecorder {
 public:
  // Called once, on a thread of the recorder's, after the commit; must be quick.
  using Told = std::move_only_function<void(const PartialFate&)>;
  // Called after a commit, for each variable that has a new record.
  using Recorded = std::function<void(const NewestPartial&)>;

  static constexpr std::size_t kLanes = 2;  // each with a connection of its own

  PartialRecorder(const std::string& database_url, const Recorded& recorded, Metrics& metrics);
  // Records what is queued if the database answers, and drops it if not: nobody was told that it counts.
  ~PartialRecorder();
  PartialRecorder(const PartialRecorder&) = delete;
  PartialRecorder& operator=(const PartialRecorder&) = delete;

  // Any thread. Whoever reports bounds how much.
  void record(PartialReport report, Told told);

 private:
  struct Item {
    PartialReport report;
    Told told;
  };
  class Lane;

  std::array<std::unique_ptr<Lane>, kLanes> lanes_;
};

}  // namespace remotist::market
