#include "market/service/watched_record_recorder.h"

#include <utility>
#include <vector>

#include "core/pg/connection.h"
#include "market/store/caller.h"

namespace remotist::market {
namespace {

constexpr std::size_t kGroupRecordsMax = 2048;

Refusal watched_records_failed(const pg::Fault& fault) {
  log::error("watched_records_failed", {{"why", fault.what()}});
  return refuse(Code::internal, "the market failed and has written down why");
}

}  // namespace

// Records that were committed before are ignored by a retry.
class WatchedRecordRecorder::Committer final : public GroupCommit<WatchedReport, WatchedResult>::Committer {
 public:
  explicit Committer(const std::string& database_url) : db_(database_url, {.by_index = true}) {}

  std::vector<WatchedResult> commit(const std::vector<WatchedReport>& reports) override {
    return record_watched(db_, reports);
  }

  WatchedResult commit_alone(const WatchedReport& report) override {
    try {
      return record_or_thin(report);
    } catch (const pg::ConstraintViolated& violated) {
      return watched_records_failed(violated);
    } catch (const pg::QueryFailed& fault) {
      return watched_records_failed(fault);
    }
  }

  std::size_t weight(const WatchedReport& report) const override { return report.records.size(); }

 private:
  WatchedResult record_or_thin(const WatchedReport& report) {
    try {
      return std::move(record_watched(db_, {report}).front());
    } catch (const pg::ConstraintViolated& violated) {
      if (!quota_refusal(violated.constraint())) throw;
    }
    return record_watched_after_thinning(db_, report);
  }

  pg::Connection db_;
};

WatchedRecordRecorder::WatchedRecordRecorder(const std::string& database_url, OnRecorded on_recorded,
                                             Metrics& metrics)
    : on_recorded_(std::move(on_recorded)),
      metrics_(metrics),
      reports_({.lanes = kLanes, .retry_event = "watched_records_wait", .weight_max = kGroupRecordsMax},
               [&] { return std::make_unique<Committer>(database_url); }) {}

void WatchedRecordRecorder::record(WatchedReport report, OnCommitted on_committed) {
  const auto job = report.attempt.job.text();
  const auto records = report.records.size();
  reports_.add(job, std::move(report),
               [this, records, on_committed = std::move(on_committed)](const WatchedResult& result) mutable {
                 if (result) {
                   metrics_.watched_records_recorded.Increment(static_cast<double>(records));
                   // Wakes the clients before the machine is answered.
                   for (const auto& newest : *result) on_recorded_(newest);
                 }
                 on_committed(result);
               });
}

}  // namespace remotist::market
