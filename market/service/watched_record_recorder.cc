#include "market/service/watched_record_recorder.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/log.h"
#include "core/pg/connection.h"
#include "core/threads.h"
#include "market/store/caller.h"

namespace remotist::market {
namespace {

using namespace std::chrono_literals;

// Bounds of one transaction, and so of the time for which the jobs' rows are locked.
constexpr std::size_t kGroupMax = 64;
constexpr std::size_t kGroupRecordsMax = 2048;
constexpr auto kRecordRetryDelay = 250ms;

Refusal market_failed(const pg::Fault& fault) {
  log::error("watched_records_failed", {{"what", fault.what()}});
  return refuse(Code::internal, "the market failed and has written down why");
}

}  // namespace

class WatchedRecordRecorder::Lane {
 public:
  Lane(const std::string& database_url, OnRecorded on_recorded, Metrics& metrics)
      : db_(database_url, {.by_index = true}), on_recorded_(std::move(on_recorded)), metrics_(metrics) {
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
  // These return false when the database is unavailable.
  bool try_commit(std::vector<Item>& items);
  bool try_each(std::vector<Item>& items);
  WatchedResult commit_alone(const WatchedReport& report);
  void report_result(Item& item, const WatchedResult& result);

  pg::Connection db_;
  const OnRecorded on_recorded_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Item> queue_;
  std::jthread thread_;  // last member: joined before the others are destroyed
};

WatchedRecordRecorder::WatchedRecordRecorder(const std::string& database_url, const OnRecorded& on_recorded,
                                             Metrics& metrics) {
  for (auto& lane : lanes_) lane = std::make_unique<Lane>(database_url, on_recorded, metrics);
}

WatchedRecordRecorder::~WatchedRecordRecorder() = default;

void WatchedRecordRecorder::record(WatchedReport report, OnCommitted on_committed) {
  const std::size_t lane = std::hash<std::string>{}(report.attempt.job.text()) % kLanes;
  lanes_.at(lane)->add({std::move(report), std::move(on_committed)});
}

void WatchedRecordRecorder::Lane::run(const std::stop_token& stop) {
  for (;;) {
    auto items = take(stop);
    if (items.empty()) return;
    // Items that were answered are removed, so that a retry does not answer them again.
    while (!try_commit(items)) {
      std::unique_lock lock{mutex_};
      if (wake_.wait_for(lock, stop, kRecordRetryDelay, [&] { return stop.stop_requested(); })) return;
    }
  }
}

std::vector<WatchedRecordRecorder::Item> WatchedRecordRecorder::Lane::take(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  wake_.wait(lock, stop, [this] { return !queue_.empty(); });
  std::vector<Item> items;
  std::size_t records = 0;
  while (!queue_.empty() && items.size() < kGroupMax) {
    records += queue_.front().report.records.size();
    if (records > kGroupRecordsMax && !items.empty()) break;
    items.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return items;
}

bool WatchedRecordRecorder::Lane::try_commit(std::vector<Item>& items) {
  try {
    std::vector<WatchedReport> reports;
    reports.reserve(items.size());
    for (const auto& item : items) reports.push_back(item.report);
    const auto results = record_watched(db_, reports);
    for (std::size_t i = 0; i < items.size(); ++i) report_result(items[i], results[i]);
    return true;
  } catch (const pg::ConstraintViolated&) {
    return try_each(items);
  } catch (const pg::QueryFailed&) {
    return try_each(items);
  } catch (const pg::Fault& fault) {
    // Also after a commit in doubt: records that were committed are ignored by the retry.
    log::warn("watched_records_wait", {{"messages", items.size()}, {"what", fault.what()}});
    return false;
  }
}

// One of them fails; commit the others.
bool WatchedRecordRecorder::Lane::try_each(std::vector<Item>& items) {
  while (!items.empty()) {
    try {
      report_result(items.front(), commit_alone(items.front().report));
      items.erase(items.begin());
    } catch (const pg::Fault& fault) {
      log::warn("watched_records_wait", {{"messages", items.size()}, {"what", fault.what()}});
      return false;
    }
  }
  return true;
}

WatchedResult WatchedRecordRecorder::Lane::commit_alone(const WatchedReport& report) {
  try {
    return std::move(record_watched(db_, {report}).front());
  } catch (const pg::ConstraintViolated& violated) {
    if (!quota_refusal(violated.constraint())) return market_failed(violated);
  } catch (const pg::QueryFailed& fault) {
    return market_failed(fault);
  }
  return record_watched_after_thinning(db_, report);
}

void WatchedRecordRecorder::Lane::report_result(Item& item, const WatchedResult& result) {
  if (result) {
    metrics_.watched_records_recorded.Increment(static_cast<double>(item.report.records.size()));
    // Wakes the clients before the machine is answered.
    for (const auto& newest : *result) on_recorded_(newest);
  }
  item.on_committed(result);
}

}  // namespace remotist::market
