// Commits watched records in groups, as ReportRecorder commits reports: the messages that arrive during one
// commit are the next group. Each message succeeds or fails by itself; those of one job stay in order.
//
// While the database is unavailable, messages are kept and retried.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "market/service/metrics.h"
#include "market/store/watched_records.h"

namespace remotist::market {

class WatchedRecordRecorder {
 public:
  // Called once, on one of the recorder's threads, after the commit; must be quick.
  using OnCommitted = std::move_only_function<void(const WatchedResult&)>;
  // Called after a commit, for each variable that has a new record.
  using OnRecorded = std::function<void(const NewestRecord&)>;

  static constexpr std::size_t kLanes = 2;  // threads, each with its own pg connection

  WatchedRecordRecorder(const std::string& database_url, const OnRecorded& on_recorded, Metrics& metrics);
  // Commits the queued messages if the database answers, else drops them: they were not acknowledged.
  ~WatchedRecordRecorder();
  WatchedRecordRecorder(const WatchedRecordRecorder&) = delete;
  WatchedRecordRecorder& operator=(const WatchedRecordRecorder&) = delete;

  // Thread-safe. The caller bounds the queue.
  void record(WatchedReport report, OnCommitted on_committed);

 private:
  struct Item {
    WatchedReport report;
    OnCommitted on_committed;
  };
  class Lane;

  std::array<std::unique_ptr<Lane>, kLanes> lanes_;
};

}  // namespace remotist::market
