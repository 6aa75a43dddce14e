#include "market/service/report_recorder.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "core/log.h"
#include "core/pg/connection.h"
#include "core/threads.h"
#include "market/store/caller.h"

namespace remotist::market {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kGroupMax = 64;
constexpr auto kReportRetryDelay = 250ms;

std::vector<Report> reports_of(const auto& items) {
  std::vector<Report> reports;
  reports.reserve(items.size());
  for (const auto& item : items) reports.push_back(item.report);
  return reports;
}

}  // namespace

class ReportRecorder::Lane {
 public:
  Lane(const std::string& database_url, std::function<void()> committed, Metrics& metrics)
      : db_(database_url, {.by_index = true}), on_committed_(std::move(committed)), metrics_(metrics) {
    const SignalsBlocked blocked;
    thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
  }

  void add(Item item) {
    {
      const std::lock_guard lock{mutex_};
      queue_.push_back(std::move(item));
    }
    wake_.notify_one();
  }

 private:
  void run(const std::stop_token& stop);
  std::vector<Item> take(const std::stop_token& stop);
  void commit(std::vector<Item> items, const std::stop_token& stop);
  // False when the database is unavailable.
  bool try_commit(std::vector<Item>& items);
  void commit_each(std::vector<Item>& items);
  void commit_alone(Item& item);

  pg::Connection db_;
  const std::function<void()> on_committed_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Item> queue_;
  std::jthread thread_;  // last member: joined before the others are destroyed
};

ReportRecorder::ReportRecorder(const std::string& database_url, const std::function<void()>& committed,
                               Metrics& metrics) {
  for (auto& lane : lanes_) lane = std::make_unique<Lane>(database_url, committed, metrics);
}

ReportRecorder::~ReportRecorder() = default;

void ReportRecorder::record(Report report, OnCommitted on_committed) {
  const std::size_t lane = std::hash<std::string>{}(report.machine.text()) % kLanes;
  lanes_.at(lane)->add({std::move(report), std::move(on_committed)});
}

void ReportRecorder::Lane::run(const std::stop_token& stop) {
  for (;;) {
    auto items = take(stop);
    if (items.empty()) return;
    commit(std::move(items), stop);
  }
}

// Takes what is queued without waiting for more: the next group gathers while this one is committed.
std::vector<ReportRecorder::Item> ReportRecorder::Lane::take(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  wake_.wait(lock, stop, [this] { return !queue_.empty(); });
  std::vector<Item> items;
  while (!queue_.empty() && items.size() < kGroupMax) {
    items.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return items;
}

void ReportRecorder::Lane::commit(std::vector<Item> items, const std::stop_token& stop) {
  while (!try_commit(items)) {
    std::unique_lock lock{mutex_};
    if (wake_.wait_for(lock, stop, kReportRetryDelay, [&] { return stop.stop_requested(); })) return;
  }
}

bool ReportRecorder::Lane::try_commit(std::vector<Item>& items) {
  try {
    const auto current = record_reports(db_, reports_of(items));
    for (std::size_t i = 0; i < items.size(); ++i) {
      (current[i] ? metrics_.reports_recorded : metrics_.reports_stale).Increment();
      items[i].on_committed(current[i] ? CommitResult::recorded : CommitResult::stale, std::nullopt);
    }
    on_committed_();
  } catch (const FilesDoNotFit&) {
    commit_each(items);
  } catch (const pg::ConstraintViolated&) {
    commit_each(items);
  } catch (const pg::QueryFailed&) {
    commit_each(items);
  } catch (const pg::Fault& fault) {
    // Also after a commit in doubt: the retry finds committed attempts ended and tells their machines to
    // stop, which has the same effect.
    log::warn("reports_wait", {{"reports", items.size()}, {"what", fault.what()}});
    return false;
  }
  return true;
}

// One of them fails; commit the others.
void ReportRecorder::Lane::commit_each(std::vector<Item>& items) {
  for (auto& item : items) commit_alone(item);
  on_committed_();
}

void ReportRecorder::Lane::commit_alone(Item& item) {
  try {
    const bool current = record_reports(db_, {item.report}).front();
    item.on_committed(current ? CommitResult::recorded : CommitResult::stale, std::nullopt);
  } catch (const FilesDoNotFit& fault) {
    item.on_committed(CommitResult::refused, refuse(Code::invalid_field, fault.what(), "path"));
  } catch (const pg::ConstraintViolated& violated) {
    if (auto refusal = quota_refusal(violated.constraint()))
      return item.on_committed(CommitResult::refused, refusal);
    log::error("report_failed", {{"what", violated.what()}});
    item.on_committed(CommitResult::refused,
                      refuse(Code::internal, "the market failed and has written down why"));
  } catch (const pg::QueryFailed& fault) {
    log::error("report_failed", {{"what", fault.what()}});
    item.on_committed(CommitResult::refused,
                      refuse(Code::internal, "the market failed and has written down why"));
  } catch (const pg::Fault& fault) {
    log::warn("reports_wait", {{"reports", 1}, {"what", fault.what()}});
    add(std::move(item));
  }
}

}  // namespace remotist::market
