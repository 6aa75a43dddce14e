// Long polling: requests that are held until a job, or one of its watched variables, changes. One thread
// queries the versions of all awaited jobs and the sequences of all awaited variables, so changes by other
// markets and by workers are seen too. Thread-safe.
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
#include "core/pg/connection.h"

namespace remotist::market {

class LongPoll {
 public:
  explicit LongPoll(const std::string& database_url);
  ~LongPoll();
  LongPoll(const LongPoll&) = delete;
  LongPoll& operator=(const LongPoll&) = delete;

  using Ticket = std::uint64_t;
  // Calls `wake` once, from any thread, when the job's version differs from `seen` or the job was deleted.
  // When an account has more than limits::kHeldRequestsPerAccountMax requests, the oldest is woken, whose
  // client has most likely gone. Empty when limits::kHeldRequestsMax requests wait.
  std::optional<Ticket> wait_for(AccountId account, JobId job, std::int64_t seen,
                                 std::move_only_function<void()> wake);
  // The same for a variable of the job: when its newest record has a sequence above `seen`, or the job has
  // ended or was deleted.
  std::optional<Ticket> wait_for(AccountId account, JobId job, std::string variable, std::int64_t seen,
                                 std::move_only_function<void()> wake);
  // `wake` is not called after this has returned, unless it was already being called.
  void cancel(Ticket ticket);

  // Something was committed: query now instead of at the next interval.
  void check_now();
  // A record of a variable was committed: wakes the requests that wait for it, without a query.
  void on_recorded(JobId job, const std::string& variable, std::int64_t sequence);
  // Wakes all requests, and from now on each new one at once.
  void wake_all();

  std::size_t waiting() const;

 private:
  struct Waiter {
    AccountId account;
    JobId job;
    std::optional<std::string> variable;  // none: the job itself
    std::int64_t seen;
    std::move_only_function<void()> wake;
  };
  using Wakes = std::vector<std::move_only_function<void()>>;

  void run(const std::stop_token& stop);
  std::optional<Ticket> wait_for(Waiter waiter);
  void check_jobs();
  void check_variables();
  std::move_only_function<void()> remove(std::map<Ticket, Waiter>::iterator waiter);

  pg::Connection db_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Ticket, Waiter> waiters_;
  std::map<AccountId, std::set<Ticket>> of_account_;  // oldest first
  std::map<JobId, std::set<Ticket>> of_variables_;    // requests that wait for variables, by job
  Ticket next_ = 1;
  bool check_now_ = false;
  bool stopped_ = false;
  std::jthread thread_;  // last member: joined before the others are destroyed
};

}  // namespace remotist::market
