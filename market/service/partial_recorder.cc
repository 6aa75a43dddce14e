#include "market/service/partial_recorder.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/log.h"
#include "core/pg/session.h"
#include "core/threads.h"
#include "market/store/caller.h"

namespace remotist::market {
namespace {

using namespace std::chrono_literals;

// Of one transaction: what its messages bring, and so how long the jobs' rows are held.
constexpr std::size_t kGroupMax = 64;
constexpr std::size_t kGroupRecordsMax = 2048;
constexpr auto kPauseAfterFault = 250ms;

Refusal market_failed(const pg::Fault& fault) {
  log::error("partials_failed", {{"what", fault.what()}});
  return refuse(Code::internal, "the market failed and has written down why");
}

}  // namespace

class PartialRecorder::Lane {
 public:
  Lane(const std::string& database_url, Recorded recorded, Metrics& metrics)
      : db_(database_url, {.by_index = true}), recorded_(std::move(recorded)), metrics_(metrics) {
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
  // From here on false when the database is away.
  bool try_commit(std::vector<Item>& items);
  bool try_each(std::vector<Item>& items);
  PartialFate fate_alone(const PartialReport& report);
  void tell(Item& item, const PartialFate& fate);

  pg::Session db_;
  const Recorded recorded_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Item> queue_;
  std::jthread thread_;  // last: it is joined before the rest goes
};

PartialRecorder::PartialRecorder(const std::string& database_url, const Recorded& recorded,
                                 Metrics& metrics) {
  for (auto& lane : lanes_) lane = std::make_unique<Lane>(database_url, recorded, metrics);
}

PartialRecorder::~PartialRecorder() = default;

void PartialRecorder::record(PartialReport report, Told told) {
  const std::size_t lane = std::hash<std::string>{}(report.attempt.job.text()) % kLanes;
  lanes_.at(lane)->add({std::move(report), std::move(told)});
}

void PartialRecorder::Lane::run(const std::stop_token& stop) {
  for (;;) {
    auto items = take(stop);
    if (items.empty()) return;
    // Those that were told are gone from the list, so that a second try does not tell them again.
    while (!try_commit(items)) {
      std::unique_lock lock{mutex_};
      if (wake_.wait_for(lock, stop, kPauseAfterFault, [&] { return stop.stop_requested(); })) return;
    }
  }
}

std::vector<PartialRecorder::Item> PartialRecorder::Lane::take(const std::stop_token& stop) {
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

bool PartialRecorder::Lane::try_commit(std::vector<Item>& items) {
  try {
    std::vector<PartialReport> reports;
    reports.reserve(items.size());
    for (const auto& item : items) reports.push_back(item.report);
    const auto fates = record_partials(db_, reports);
    for (std::size_t i = 0; i < items.size(); ++i) tell(items[i], fates[i]);
    return true;
  } catch (const pg::ConstraintViolated&) {
    return try_each(items);
  } catch (const pg::QueryFailed&) {
    return try_each(items);
  } catch (const pg::Fault& fault) {
    // Also after a commit in doubt: what was committed is passed over the next time.
    log::warn("partials_wait", {{"messages", items.size()}, {"what", fault.what()}});
    return false;
  }
}

// One of them does not go; the others shall.
bool PartialRecorder::Lane::try_each(std::vector<Item>& items) {
  while (!items.empty()) {
    try {
      tell(items.front(), fate_alone(items.front().report));
      items.erase(items.begin());
    } catch (const pg::Fault& fault) {
      log::warn("partials_wait", {{"messages", items.size()}, {"what", fault.what()}});
      return false;
    }
  }
  return true;
}

PartialFate PartialRecorder::Lane::fate_alone(const PartialReport& report) {
  try {
    return std::move(record_partials(db_, {report}).front());
  } catch (const pg::ConstraintViolated& violated) {
    if (!quota_refusal(violated.constraint())) return market_failed(violated);
  } catch (const pg::QueryFailed& fault) {
    return market_failed(fault);
  }
  return record_partials_thinly(db_, report);
}

void PartialRecorder::Lane::tell(Item& item, const PartialFate& fate) {
  if (fate) {
    metrics_.partials_recorded.Increment(static_cast<double>(item.report.records.size()));
    // Whoever waits for the value first: the machine has time.
    for (const auto& newest : *fate) recorded_(newest);
  }
  item.told(fate);
}

}  // namespace remotist::market
