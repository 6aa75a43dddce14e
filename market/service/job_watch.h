// Requests that wait for a job to change. One thread asks the database for the versions of all jobs that are
// waited for, in one query, so that it does not matter which market or worker changed them. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "core/id.h"
#include "core/pg/session.h"

namespace remotist::market {

class JobWatch {
 public:
  explicit JobWatch(const std::string& database_url);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  using Ticket = std::uint64_t;
  // Calls `wake` once, from any thread, when the job has another version than `seen` or is gone, or when this
  // account waits for more than limits::kHeldRequestsPerAccountMax: then the one that has waited longest is
  // woken, whose client has most likely gone away. Nothing when limits::kHeldRequestsMax wait in all.
  std::optional<Ticket> wait_for(AccountId account, JobId job, std::int64_t seen,
                                 std::move_only_function<void()> wake);
  // `wake` is not called after this has returned, unless it was already being called.
  void forget(Ticket ticket);

  // Something was committed just now: look at once.
  void look();
  // Wakes everybody, now and from now on.
  void release();

  std::size_t waiting() const;

 private:
  struct Waiter {
    AccountId account;
    JobId job;
    std::int64_t seen;
    std::move_only_function<void()> wake;
  };

  void run(const std::stop_token& stop);
  void look_at_all();
  std::move_only_function<void()> take(std::map<Ticket, Waiter>::iterator waiter);

  pg::Session db_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Ticket, Waiter> waiters_;
  std::map<AccountId, std::set<Ticket>> of_account_;  // oldest first
  Ticket next_ = 1;
  bool look_now_ = false;
  bool released_ = false;
  std::jthread thread_;  // last: it is joined before the rest goes
};

}  // namespace remotist::market
