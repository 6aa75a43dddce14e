// Requests that wait for a job, or for one of its watched variables, to change. One thread asks the database
// for the versions of all jobs that are waited for, in one query, and for the sequences of all variables in
// another, so that it does not matter which market or worker changed them. Thread-safe.
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
#include <vector>

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
  // The same for a variable of the job: when its newest record has a sequence above `seen`, or the job has
  // ended or is gone.
  std::optional<Ticket> wait_for(AccountId account, JobId job, std::string variable, std::int64_t seen,
                                 std::move_only_function<void()> wake);
  // `wake` is not called after this has returned, unless it was already being called.
  void forget(Ticket ticket);

  // Something was committed just now: look at once.
  void look();
  // A record of a variable was committed just now: wakes who waits for it, without asking the database.
  void recorded(JobId job, const std::string& variable, std::int64_t sequence);
  // Wakes everybody, now and from now on.
  void release();

  std::size_t waiting() const;

 private:
  struct Waiter {
    AccountId account;
    JobId job;
    std::optional<std::string> variable;  // none: it waits for the job
    std::int64_t seen;
    std::move_only_function<void()> wake;
  };
  using Wakes = std::vector<std::move_only_function<void()>>;

  void run(const std::stop_token& stop);
  std::optional<Ticket> wait_for(Waiter waiter);
  void look_at_jobs();
  void look_at_variables();
  std::move_only_function<void()> take(std::map<Ticket, Waiter>::iterator waiter);

  pg::Session db_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Ticket, Waiter> waiters_;
  std::map<AccountId, std::set<Ticket>> of_account_;  // oldest first
  std::map<JobId, std::set<Ticket>> of_variables_;    // that wait for variables, by their job
  Ticket next_ = 1;
  bool look_now_ = false;
  bool released_ = false;
  std::jthread thread_;  // last: it is joined before the rest goes
};

}  // namespace remotist::market
