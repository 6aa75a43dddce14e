#include "market/service/long_poll.h"

#include <set>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/log.h"
#include "core/threads.h"
#include "market/store/jobs.h"
#include "market/store/watched_history.h"

namespace remotist::market {
namespace {

using Clock = std::chrono::steady_clock;

// Query intervals, and so the latency of changes by other processes: of jobs, and of variables, which clients
// follow closely.
constexpr std::chrono::milliseconds kInterval{200};
constexpr std::chrono::milliseconds kVariableInterval{40};

}  // namespace

LongPoll::LongPoll(const std::string& database_url) : db_(database_url) {
  const SignalsBlocked blocked;
  thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

LongPoll::~LongPoll() {
  wake_all();
}

std::optional<LongPoll::Ticket> LongPoll::wait_for(AccountId account, JobId job, std::int64_t seen,
                                                   std::move_only_function<void()> wake) {
  return wait_for({account, job, std::nullopt, seen, std::move(wake)});
}

std::optional<LongPoll::Ticket> LongPoll::wait_for(AccountId account, JobId job, std::string variable,
                                                   std::int64_t seen, std::move_only_function<void()> wake) {
  return wait_for({account, job, std::move(variable), seen, std::move(wake)});
}

std::optional<LongPoll::Ticket> LongPoll::wait_for(Waiter waiter) {
  std::unique_lock lock{mutex_};
  if (stopped_) {
    lock.unlock();
    waiter.wake();
    return Ticket{0};
  }
  if (waiters_.size() >= limits::kHeldRequestsMax) return std::nullopt;
  const Ticket ticket = next_++;
  auto& tickets = of_account_[waiter.account];
  tickets.insert(ticket);
  if (waiter.variable) of_variables_[waiter.job].insert(ticket);
  waiters_.emplace(ticket, std::move(waiter));
  std::move_only_function<void()> oldest;
  if (tickets.size() > limits::kHeldRequestsPerAccountMax) oldest = remove(waiters_.find(*tickets.begin()));
  // It may have changed since the caller read it.
  check_now_ = true;
  changed_.notify_one();
  lock.unlock();
  if (oldest) oldest();
  return ticket;
}

// Requires the lock.
std::move_only_function<void()> LongPoll::remove(std::map<Ticket, Waiter>::iterator waiter) {
  auto wake = std::move(waiter->second.wake);
  const auto tickets = of_account_.find(waiter->second.account);
  tickets->second.erase(waiter->first);
  if (tickets->second.empty()) of_account_.erase(tickets);
  if (waiter->second.variable) {
    const auto of_job = of_variables_.find(waiter->second.job);
    of_job->second.erase(waiter->first);
    if (of_job->second.empty()) of_variables_.erase(of_job);
  }
  waiters_.erase(waiter);
  return wake;
}

void LongPoll::cancel(Ticket ticket) {
  const std::lock_guard lock{mutex_};
  if (const auto found = waiters_.find(ticket); found != waiters_.end()) (void)remove(found);
}

void LongPoll::check_now() {
  const std::lock_guard lock{mutex_};
  if (waiters_.empty()) return;
  check_now_ = true;
  changed_.notify_one();
}

void LongPoll::on_recorded(JobId job, const std::string& variable, std::int64_t sequence) {
  Wakes woken;
  {
    const std::lock_guard lock{mutex_};
    const auto of_job = of_variables_.find(job);
    if (of_job == of_variables_.end()) return;
    const auto tickets = of_job->second;
    for (const Ticket ticket : tickets) {
      const auto waiter = waiters_.find(ticket);
      if (waiter->second.variable == variable && waiter->second.seen < sequence)
        woken.push_back(remove(waiter));
    }
  }
  for (auto& wake : woken) wake();
}

void LongPoll::wake_all() {
  std::map<Ticket, Waiter> all;
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    of_account_.clear();
    of_variables_.clear();
    all.swap(waiters_);
  }
  for (auto& [ticket, waiter] : all) waiter.wake();
}

std::size_t LongPoll::waiting() const {
  const std::lock_guard lock{mutex_};
  return waiters_.size();
}

void LongPoll::run(const std::stop_token& stop) {
  auto jobs_at = Clock::now();
  while (!stop.stop_requested()) {
    bool jobs_now = false;
    {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, stop, [this] { return !waiters_.empty(); });
      const auto pause = of_variables_.empty() ? kInterval : kVariableInterval;
      changed_.wait_for(lock, stop, pause, [this] { return check_now_; });
      jobs_now = check_now_ || Clock::now() >= jobs_at;
      check_now_ = false;
    }
    if (stop.stop_requested()) return;
    try {
      check_variables();
      if (!jobs_now) continue;
      jobs_at = Clock::now() + kInterval;
      check_jobs();
    } catch (const std::exception& fault) {
      log::warn("long_poll_fault", {{"why", fault.what()}});
    }
  }
}

void LongPoll::check_jobs() {
  std::set<JobId> jobs;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [ticket, waiter] : waiters_) {
      if (!waiter.variable) jobs.insert(waiter.job);
    }
  }
  if (jobs.empty()) return;
  const auto versions = job_versions(db_, {jobs.begin(), jobs.end()});
  Wakes woken;
  {
    const std::lock_guard lock{mutex_};
    for (auto at = waiters_.begin(); at != waiters_.end();) {
      const auto next = std::next(at);
      const auto version = versions.find(at->second.job);
      const bool unchanged = version != versions.end() && version->second == at->second.seen;
      if (!at->second.variable && !unchanged && jobs.contains(at->second.job)) woken.push_back(remove(at));
      at = next;
    }
  }
  for (auto& wake : woken) wake();
}

void LongPoll::check_variables() {
  std::vector<Ticket> tickets;
  std::vector<std::pair<JobId, std::string>> variables;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [job, of_job] : of_variables_) {
      for (const Ticket ticket : of_job) {
        tickets.push_back(ticket);
        variables.emplace_back(job, *waiters_.at(ticket).variable);
      }
    }
  }
  if (tickets.empty()) return;
  const auto states = variable_states(db_, variables);
  Wakes woken;
  {
    const std::lock_guard lock{mutex_};
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      const auto waiter = waiters_.find(tickets[i]);
      if (waiter == waiters_.end()) continue;
      const auto& state = states[i];
      if (!state || state->ended || state->newest > waiter->second.seen) woken.push_back(remove(waiter));
    }
  }
  for (auto& wake : woken) wake();
}

}  // namespace remotist::market
