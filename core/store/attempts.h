// Ends attempts and jobs: for the market when a machine reports an end or a client cancels, for the worker
// when a lease or a deadline has expired. Every function runs in the caller's transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/attempt_outcome.h"
#include "core/id.h"
#include "core/job_state.h"
#include "core/pg/connection.h"
#include "core/store/locks.h"

namespace remotist::store {

struct AttemptEnd {
  JobId job;
  int number;
  AttemptOutcome outcome;
  std::optional<std::int64_t> cpu_ms{};  // as the agent measured it; else what its last beat said
};

// An attempt that has just ended.
struct EndedAttempt {
  JobId job;
  int number;
  MachineSessionId machine_session;
  MarketId market;  // the market with the machine's socket
  bool open;        // the machine session goes on, with more free capacity
  bool leaving;     // it had been asked to hand the job over
};

// All functions below require lock_jobs() for every job that they are given.

// Locks the machine sessions of these attempts.
void lock_machine_sessions(pg::Connection& db, const std::vector<AttemptEnd>& ends);

// Ends those attempts that are current and returns them; the others had ended before. Computes what each
// machine earns and frees the capacity of its session. What a machine earns for a stopped attempt (cancelled,
// expired) is computed by close_settlements(). Requires lock_machine_sessions().
std::vector<EndedAttempt> end_attempts(pg::Connection& db, const std::vector<AttemptEnd>& ends);

struct JobEnd {
  JobId job;
  JobState state;  // completed, failed, cancelled or expired
  std::optional<FailureCode> failure_code{};
  std::optional<std::string> failure_detail{};
};
// Requires that their attempts have ended. Pays each job's escrow to the machine that earned it and returns
// the rest to the owner; for a stopped job that happens when its settlement is closed. Call once in a
// transaction, for all its jobs, because it locks the ledger. Jobs that are uploading require lock_tallies().
void end_jobs(pg::Connection& db, const std::vector<JobEnd>& ends);

// The CPU time that a machine reports of a stopped attempt. Without token and time: the machine has not
// reported in time.
struct Measured {
  JobId job;
  int number;
  MachineId machine;
  std::string token_hash{};
  std::optional<std::int64_t> cpu_ms{};  // else as of its last beat
};
// Pays the machines and returns the rest of the escrow. Returns the jobs that were settled now; the others
// had been settled before or do not match. Requires a transaction of its own.
std::vector<JobId> close_settlements(pg::Connection& db, const std::vector<Measured>& measured);

// Queues jobs again whose attempts ended with this outcome. Requires that those attempts have ended, and that
// row_of(outcome).job_becomes is queued. `counts`: towards row_of(outcome).too_often; it does not when the
// machine left or was asked to hand the job over, which the job did not cause. A job that reaches that limit
// is not queued but returned, for end_jobs(). The others get the progress of their newest usable checkpoints,
// and watched records from after these are superseded. Writes messages to the workers.
[[nodiscard]] std::vector<JobEnd> requeue_jobs(pg::Connection& db, const std::vector<JobId>& jobs,
                                               AttemptOutcome outcome, bool counts = true);

// Jobs that the next attempt goes on with from checkpoints: what ended attempts have recorded of watched
// variables after them is superseded.
struct ResumePoint {
  JobId job;
  int sequence;  // of the checkpoint; 0: it begins afresh
};
void supersede_records(pg::Connection& db, const std::vector<ResumePoint>& points);

// Deletes jobs that have ended or were never submitted, with everything that belongs to them. Requires that
// their rows are locked FOR UPDATE.
void delete_jobs(pg::Connection& db, const std::vector<JobId>& jobs);

// Write messages: to the workers, that these machine sessions have free capacity; to the markets, that
// machines must stop these attempts.
void offer_sessions(pg::Connection& db, const std::vector<MachineSessionId>& sessions);
void tell_markets_to_stop(pg::Connection& db, const std::vector<EndedAttempt>& attempts,
                          std::string_view reason);

}  // namespace remotist::store
