// Commits the reports of machines in groups: the reports that arrive during one commit are the next group and
// share one wait for the disk. Each report succeeds or fails by itself. A group may wait for locks on its
// owners' ledger accounts, so several threads commit at once; the reports of one machine stay in order.
//
// While the database is unavailable, reports are kept and retried.
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
  enum class CommitResult { recorded, stale, refused };
  // Called once, on one of the recorder's threads, after the commit; must be quick. The refusal comes with
  // CommitResult::refused.
  using OnCommitted = std::move_only_function<void(CommitResult, const std::optional<Refusal>&)>;

  static constexpr std::size_t kLanes = 3;  // threads, each with its own pg connection

  // `committed` is called after each group, by any of its threads: the outbox may have new messages.
  ReportRecorder(const std::string& database_url, const std::function<void()>& committed, Metrics& metrics);
  // Commits the queued reports if the database answers, else drops them: they were not acknowledged.
  ~ReportRecorder();
  ReportRecorder(const ReportRecorder&) = delete;
  ReportRecorder& operator=(const ReportRecorder&) = delete;

  // Thread-safe. The caller bounds the queue.
  void record(Report report, OnCommitted on_committed);

 private:
  struct Item {
    Report report;
    OnCommitted on_committed;
  };
  class Lane;

  std::array<std::unique_ptr<Lane>, kLanes> lanes_;
};

}  // namespace remotist::market
