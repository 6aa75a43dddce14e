#include "market/service/report_recorder.h"

#include <utility>
#include <vector>

#include "core/pg/connection.h"
#include "market/store/caller.h"

namespace remotist::market {
namespace {

Refusal report_failed(const pg::Fault& fault) {
  log::error("report_failed", {{"why", fault.what()}});
  return refuse(Code::internal, "the market failed and has written down why");
}

}  // namespace

class ReportRecorder::Committer final : public GroupCommit<Report, Outcome>::Committer {
 public:
  Committer(const std::string& database_url, std::function<void()> committed)
      : db_(database_url, {.by_index = true}), committed_(std::move(committed)) {}

  // After a commit in doubt the retry finds committed attempts ended and tells their machines to stop, which
  // has the same effect.
  std::vector<Outcome> commit(const std::vector<Report>& reports) override {
    std::vector<Outcome> outcomes;
    for (const bool recorded : record_reports(db_, reports)) outcomes.push_back(outcome_of(recorded));
    return outcomes;
  }

  Outcome commit_alone(const Report& report) override {
    try {
      return outcome_of(record_reports(db_, {report}).front());
    } catch (const FilesDoNotFit& fault) {
      return {CommitResult::refused, refuse(Code::invalid_field, fault.what(), "path")};
    } catch (const pg::ConstraintViolated& violated) {
      auto refusal = quota_refusal(violated.constraint());
      return {CommitResult::refused, refusal ? std::move(refusal) : report_failed(violated)};
    } catch (const pg::QueryFailed& fault) {
      return {CommitResult::refused, report_failed(fault)};
    }
  }

  void on_group_committed() override { committed_(); }

 private:
  static Outcome outcome_of(bool recorded) {
    return {recorded ? CommitResult::recorded : CommitResult::stale};
  }

  pg::Connection db_;
  const std::function<void()> committed_;
};

ReportRecorder::ReportRecorder(const std::string& database_url, const std::function<void()>& committed,
                               Metrics& metrics)
    : metrics_(metrics), reports_({.lanes = kLanes, .retry_event = "reports_wait"}, [&] {
        return std::make_unique<Committer>(database_url, committed);
      }) {}

void ReportRecorder::record(Report report, OnCommitted on_committed) {
  const auto machine = report.machine.text();
  reports_.add(machine, std::move(report),
               [this, on_committed = std::move(on_committed)](const Outcome& outcome) mutable {
                 if (outcome.result == CommitResult::recorded) metrics_.reports_recorded.Increment();
                 if (outcome.result == CommitResult::stale) metrics_.reports_stale.Increment();
                 on_committed(outcome.result, outcome.refusal);
               });
}

}  // namespace remotist::market
