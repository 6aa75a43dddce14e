// Commits what machines report in groups: one commit's wait for the disk is shared by everything that came
// while the one before it waited. Each report stands or falls alone. A group also waits for whoever holds its
// owners' purses, so several are on their way at once; the reports of one machine stay in order.
//
// A database that is away is waited for: reports are kept until it has answered.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/result.h"
#include "market/service/metrics.h"
#include "market/store/outcomes.h"

namespace remotist::market {

class ReportRecorder {
 public:
  enum class Fate { recorded, stale, refused };
  // Called once, on a thread of the recorder's, after the commit; must be quick. With Fate::refused it is
  // told why.
  using Told = std::move_only_function<void(Fate, const std::optional<Refusal>&)>;

  static constexpr std::size_t kLanes = 3;  // each with a connection of its own

  // `committed` is called after each group, by any of its threads: there is something for the publisher.
  ReportRecorder(const std::string& database_url, const std::function<void()>& committed, Metrics& metrics);
  // Records what is queued if the database answers, and drops it if not: nobody was told that it counts.
  ~ReportRecorder();
  ReportRecorder(const ReportRecorder&) = delete;
  ReportRecorder& operator=(const ReportRecorder&) = delete;

  // Any thread. Whoever reports bounds how much.
  void record(Report report, Told told);

 private:
  struct Item {
    Report report;
    Told told;
  };
  class Lane;

  std::array<std::unique_ptr<Lane>, kLanes> lanes_;
};

}  // namespace remotist::market
