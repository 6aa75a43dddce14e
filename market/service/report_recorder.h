// Commits the reports of machines in groups (group_commit.h). A group may wait for locks on its owners'
// ledger accounts, so several threads commit at once; the reports of one machine stay in order.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "core/result.h"
#include "market/service/group_commit.h"
#include "market/service/metrics.h"
#include "market/service/record_reports.h"

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

  // Thread-safe. The caller bounds the queue. While the database is away, reports are kept; the destructor
  // then drops them without an answer.
  void record(Report report, OnCommitted on_committed);

 private:
  struct Outcome {
    CommitResult result;
    std::optional<Refusal> refusal{};
  };
  class Committer;

  Metrics& metrics_;
  GroupCommit<Report, Outcome> reports_;
};

}  // namespace remotist::market
