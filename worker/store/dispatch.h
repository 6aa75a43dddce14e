// What the worker reads and writes to bring jobs and machines together. All of it in the caller's
// transaction, which holds the rows that these functions give until it ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "core/id.h"
#include "core/pg/session.h"
#include "core/protocol.h"
#include "worker/matching/matching.h"

namespace remotist::worker {

// Sessions that could take one of these jobs.
std::vector<SessionId> sessions_for(pg::Session& db, const std::vector<JobId>& jobs);
// Any sessions that offer something; none when no job waits.
std::vector<SessionId> offering_sessions(pg::Session& db, std::size_t at_most);

enum class Held { pass_over, wait_for };  // rows that another transaction holds
// Those that still offer something. take_all_sessions: also those that are full.
std::vector<Machine> take_sessions(pg::Session& db, const std::vector<SessionId>& sessions, Held held);
std::vector<Machine> take_all_sessions(pg::Session& db, const std::vector<SessionId>& sessions);

// Accounts with waiting jobs, the next `at_most` in turn after that one.
std::vector<AccountId> accounts_after(pg::Session& db, AccountId after, std::size_t at_most);

// The best `of_each` jobs of each account that fit one of the machines which nothing is reserved on, the best
// of all accounts before the second best of any.
std::vector<WaitingJob> take_jobs(pg::Session& db, const std::vector<AccountId>& accounts,
                                  std::size_t of_each, const std::vector<Machine>& machines);
// Those that still wait.
std::vector<WaitingJob> take_named_jobs(pg::Session& db, const std::vector<JobId>& jobs);

// An account's first job that has waited too long, and sessions that could take it if they were empty.
struct OverdueJob {
  JobId job;
  std::vector<SessionId> sessions;
};
std::vector<OverdueJob> overdue_jobs(pg::Session& db, const std::vector<AccountId>& accounts,
                                     std::chrono::seconds patience, std::size_t at_most);

// An attempt that has begun, and which market must tell its machine.
struct BegunAttempt {
  MarketId market;
  SessionId session;
  protocol::Assignment assignment;
};
std::vector<BegunAttempt> apply(pg::Session& db, const Snapshot& snapshot, const Plan& plan);

// Ends the reservations on these.
void release_reservations(pg::Session& db, const std::vector<SessionId>& sessions);

}  // namespace remotist::worker
