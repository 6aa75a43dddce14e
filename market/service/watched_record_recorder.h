// Commits watched records in groups (group_commit.h), as ReportRecorder commits reports. The messages of one
// job stay in order.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "market/service/group_commit.h"
#include "market/service/metrics.h"
#include "market/service/record_watched.h"

namespace remotist::market {

class WatchedRecordRecorder {
 public:
  // Called once, on one of the recorder's threads, after the commit; must be quick.
  using OnCommitted = std::move_only_function<void(const WatchedResult&)>;
  // Called after a commit, for each variable that has a new record.
  using OnRecorded = std::function<void(const NewestRecord&)>;

  static constexpr std::size_t kLanes = 2;  // threads, each with its own pg connection

  WatchedRecordRecorder(const std::string& database_url, OnRecorded on_recorded, Metrics& metrics);

  // Thread-safe. The caller bounds the queue. While the database is away, messages are kept; the destructor
  // then drops them without an answer.
  void record(WatchedReport report, OnCommitted on_committed);

 private:
  class Committer;

  const OnRecorded on_recorded_;
  Metrics& metrics_;
  GroupCommit<WatchedReport, WatchedResult> reports_;
};

}  // namespace remotist::market
