#include "market/service/job_watch.h"

#include <set>
#include <vector>

#include "core/limits.h"
#include "core/log.h"
#include "core/threads.h"
#include "market/store/jobs.h"

namespace remotist::market {
namespace {

// How late a change made by another process is noticed at most.
constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

JobWatch::JobWatch(const std::string& database_url) : db_(database_url) {
  const SignalsBlocked blocked;
  thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

JobWatch::~JobWatch() {
  release();
}

std::optional<JobWatch::Ticket> JobWatch::wait_for(AccountId account, JobId job, std::int64_t seen,
                                                   std::move_only_function<void()> wake) {
  std::unique_lock lock{mutex_};
  if (released_) {
    lock.unlock();
    wake();
    return Ticket{0};
  }
  if (waiters_.size() >= limits::kHeldRequestsMax) return std::nullopt;
  const Ticket ticket = next_++;
  waiters_.emplace(ticket, Waiter{account, job, seen, std::move(wake)});
  auto& tickets = of_account_[account];
  tickets.insert(ticket);
  std::move_only_function<void()> oldest;
  if (tickets.size() > limits::kHeldRequestsPerAccountMax) oldest = take(waiters_.find(*tickets.begin()));
  // The job may have changed since the caller looked.
  look_now_ = true;
  changed_.notify_one();
  lock.unlock();
  if (oldest) oldest();
  return ticket;
}

// Requires the lock.
std::move_only_function<void()> JobWatch::take(std::map<Ticket, Waiter>::iterator waiter) {
  auto wake = std::move(waiter->second.wake);
  const auto tickets = of_account_.find(waiter->second.account);
  tickets->second.erase(waiter->first);
  if (tickets->second.empty()) of_account_.erase(tickets);
  waiters_.erase(waiter);
  return wake;
}

void JobWatch::forget(Ticket ticket) {
  const std::lock_guard lock{mutex_};
  if (const auto found = waiters_.find(ticket); found != waiters_.end()) (void)take(found);
}

void JobWatch::look() {
  const std::lock_guard lock{mutex_};
  if (waiters_.empty()) return;
  look_now_ = true;
  changed_.notify_one();
}

void JobWatch::release() {
  std::map<Ticket, Waiter> all;
  {
    const std::lock_guard lock{mutex_};
    released_ = true;
    of_account_.clear();
    all.swap(waiters_);
  }
  for (auto& [ticket, waiter] : all) waiter.wake();
}

std::size_t JobWatch::waiting() const {
  const std::lock_guard lock{mutex_};
  return waiters_.size();
}

void JobWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, stop, [this] { return !waiters_.empty(); });
      changed_.wait_for(lock, stop, kInterval, [this] { return look_now_; });
      look_now_ = false;
    }
    if (stop.stop_requested()) return;
    try {
      look_at_all();
    } catch (const std::exception& fault) {
      log::warn("job_watch_fault", {{"what", fault.what()}});
    }
  }
}

void JobWatch::look_at_all() {
  std::set<JobId> jobs;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [ticket, waiter] : waiters_) jobs.insert(waiter.job);
  }
  const auto versions = job_versions(db_, {jobs.begin(), jobs.end()});
  std::vector<std::move_only_function<void()>> woken;
  {
    const std::lock_guard lock{mutex_};
    for (auto at = waiters_.begin(); at != waiters_.end();) {
      const auto next = std::next(at);
      const auto version = versions.find(at->second.job);
      const bool unchanged = version != versions.end() && version->second == at->second.seen;
      if (!unchanged && jobs.contains(at->second.job)) woken.push_back(take(at));
      at = next;
    }
  }
  for (auto& wake : woken) wake();
}

}  // namespace remotist::market
