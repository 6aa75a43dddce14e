// The queries of the dispatcher. All run in the caller's transaction; the lock_… functions lock the rows that
// they return until it ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/queue_messages.h"
#include "worker/matching/matching.h"

namespace remotist::worker {

// Machine sessions that could run one of these jobs.
std::vector<MachineSessionId> sessions_for(pg::Connection& db, const std::vector<JobId>& jobs);
// Machine sessions with free capacity, in random order; none when no job is queued.
std::vector<MachineSessionId> offering_sessions(pg::Connection& db, std::size_t at_most);

enum class IfLocked { skip, wait };  // rows that another transaction has locked
// Locks the sessions that still have free capacity. lock_all_sessions: also full ones.
std::vector<Machine> lock_offering_sessions(pg::Connection& db, const std::vector<MachineSessionId>& sessions,
                                            IfLocked if_locked);
std::vector<Machine> lock_all_sessions(pg::Connection& db, const std::vector<MachineSessionId>& sessions);

// The next `at_most` accounts with queued jobs after `after`, by id.
std::vector<AccountId> accounts_after(pg::Connection& db, AccountId after, std::size_t at_most);

// Locks the best `of_each` queued jobs of each account that fit one of the machines without a reservation;
// ordered by rank within the account first, so that the best jobs of all accounts precede the second best of
// any.
std::vector<WaitingJob> lock_best_jobs(pg::Connection& db, const std::vector<AccountId>& accounts,
                                       std::size_t of_each, const std::vector<Machine>& machines);
// Locks those of the jobs that are still queued. Of the machines that they exclude, gives those among
// `machines`.
std::vector<WaitingJob> lock_named_jobs(pg::Connection& db, const std::vector<JobId>& jobs,
                                        const std::vector<Machine>& machines);

// An account's first job, if it has waited for `reserve_after`, and machine sessions that could run it if
// they were empty.
struct OverdueJob {
  JobId job;
  std::vector<MachineSessionId> sessions;
};
std::vector<OverdueJob> overdue_jobs(pg::Connection& db, const std::vector<AccountId>& accounts,
                                     std::chrono::seconds reserve_after, std::size_t at_most);

// A new attempt, and the market that must send it to its machine.
struct BegunAttempt {
  MarketId market;
  queue::SessionAttempt attempt;
  std::optional<RequestId> request_id;  // of the HTTP request that submitted the job
};
std::vector<BegunAttempt> apply(pg::Connection& db, const Snapshot& snapshot, const Plan& plan);

// Releases the reservations of these sessions.
void release_reservations(pg::Connection& db, const std::vector<MachineSessionId>& sessions);

}  // namespace remotist::worker
