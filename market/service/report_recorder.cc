#include "market/service/report_recorder.h"

#include <algorithm>

#include "core/log.h"
#include "core/threads.h"
#include "market/store/caller.h"

namespace remotist::market {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kGroupMax = 64;
constexpr auto kPauseAfterFault = 250ms;

std::vector<Report> reports_of(const auto& items) {
  std::vector<Report> reports;
  reports.reserve(items.size());
  for (const auto& item : items) reports.push_back(item.report);
  return reports;
}

}  // namespace

ReportRecorder::ReportRecorder(const std::string& database_url, std::function<void()> committed,
                               Metrics& metrics)
    : db_(database_url, {.by_index = true}), committed_(std::move(committed)), metrics_(metrics) {
  const SignalsBlocked blocked;
  thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

ReportRecorder::~ReportRecorder() = default;

void ReportRecorder::record(Report report, Told told) {
  {
    const std::lock_guard lock{mutex_};
    queue_.push_back({std::move(report), std::move(told)});
  }
  wake_.notify_one();
}

void ReportRecorder::run(const std::stop_token& stop) {
  for (;;) {
    auto items = take(stop);
    if (items.empty()) return;
    commit(std::move(items), stop);
  }
}

// Never waits for more than there is: the next group gathers while this one is committed.
std::vector<ReportRecorder::Item> ReportRecorder::take(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  wake_.wait(lock, stop, [this] { return !queue_.empty(); });
  std::vector<Item> items;
  while (!queue_.empty() && items.size() < kGroupMax) {
    items.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return items;
}

void ReportRecorder::commit(std::vector<Item> items, const std::stop_token& stop) {
  while (!try_commit(items)) {
    std::unique_lock lock{mutex_};
    if (wake_.wait_for(lock, stop, kPauseAfterFault, [&] { return stop.stop_requested(); })) return;
  }
}

bool ReportRecorder::try_commit(std::vector<Item>& items) {
  try {
    const auto current = record_reports(db_, reports_of(items));
    for (std::size_t i = 0; i < items.size(); ++i) {
      (current[i] ? metrics_.reports_recorded : metrics_.reports_stale).Increment();
      items[i].told(current[i] ? Fate::recorded : Fate::stale, std::nullopt);
    }
    committed_();
  } catch (const pg::ConstraintViolated&) {
    commit_each(items);
  } catch (const pg::QueryFailed&) {
    commit_each(items);
  } catch (const pg::Fault& fault) {
    // Also after a commit in doubt: what was committed is found ended, and its machine told to stop, which
    // comes to the same.
    log::warn("reports_wait", {{"reports", items.size()}, {"what", fault.what()}});
    return false;
  }
  return true;
}

// One of them does not go; the others shall.
void ReportRecorder::commit_each(std::vector<Item>& items) {
  for (auto& item : items) commit_alone(item);
  committed_();
}

void ReportRecorder::commit_alone(Item& item) {
  try {
    const bool current = record_reports(db_, {item.report}).front();
    item.told(current ? Fate::recorded : Fate::stale, std::nullopt);
  } catch (const pg::ConstraintViolated& violated) {
    if (violated.constraint() == kQuotaConstraint) {
      item.told(Fate::refused, storage_is_full());
      return;
    }
    log::error("report_failed", {{"what", violated.what()}});
    item.told(Fate::refused, refuse(Code::internal, "the market failed and has written down why"));
  } catch (const pg::QueryFailed& fault) {
    log::error("report_failed", {{"what", fault.what()}});
    item.told(Fate::refused, refuse(Code::internal, "the market failed and has written down why"));
  } catch (const pg::Fault& fault) {
    log::warn("reports_wait", {{"reports", 1}, {"what", fault.what()}});
    record(std::move(item.report), std::move(item.told));
  }
}

}  // namespace remotist::market
