// How attempts end, and jobs with them: for the market when a machine says so or a client cancels, and for
// the worker when a lease or a deadline has run out. Everything here runs in the caller's transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.h"
#include "core/job_state.h"
#include "core/pg/session.h"
#include "core/store/locks.h"

namespace remotist::store {

enum class AttemptOutcome : std::uint8_t {
  completed,
  failed,
  cancelled,
  expired,
  refused,
  handed_back,
  lost,
};
std::string_view name_of(AttemptOutcome outcome);

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
  SessionId session;
  MarketId market;  // that has the machine's socket
  bool open;        // the session goes on, with more to offer than before
};

// Everything below requires lock_jobs(), for every job that it names.

// The sessions that have these attempts.
void lock_sessions(pg::Session& db, const std::vector<AttemptEnd>& ends);

// Of those that are current, and only of those: what is not in the answer had ended before. Says what each
// machine earns and gives its session back what the attempt took. What a machine earns that is told to stop
// (cancelled, expired) is left for close_settlements(). Requires lock_sessions().
std::vector<EndedAttempt> end_attempts(pg::Session& db, const std::vector<AttemptEnd>& ends);

struct JobEnd {
  JobId job;
  JobState state;  // completed, failed, cancelled or expired
  std::optional<std::string> failure_code{};
  std::optional<std::string> failure_detail{};
};
// Requires that their attempts have ended. What each job held goes to the machine that earned it, the rest
// back to its owner; for one that was stopped, when its settlement is closed. Once in a transaction, for all
// its jobs, because it locks the ledger; jobs that are uploading require lock_tallies().
void end_jobs(pg::Session& db, const std::vector<JobEnd>& ends);

// What a machine measured of an attempt that was stopped; with neither token nor time its time to say so is
// up.
struct Measured {
  JobId job;
  int number;
  MachineId machine;
  std::string token_hash{};
  std::optional<std::int64_t> cpu_ms{};  // else what its last beat said
};
// Pays for them, and gives the rest back. Those that were settled now; the others had been, or are not what
// they say. In a transaction of its own.
std::vector<JobId> close_settlements(pg::Session& db, const std::vector<Measured>& measured);

// Why jobs are put back.
enum class Requeue : std::uint8_t {
  not_begun,    // refused, or the machine leaves: says nothing of the job
  handed_back,  // the machine could not go on with it
  lost,         // the machine was lost with it
};
// Requires that their attempts have ended. Losses and hand-backs are counted, and a job that has had
// limits::kLossesMax of them in a row, or limits::kHandBacksMax, fails instead: those are returned, for
// end_jobs(). Writes messages for the workers.
[[nodiscard]] std::vector<JobEnd> requeue_jobs(pg::Session& db, const std::vector<JobId>& jobs, Requeue why);

// Deletes jobs that have ended or were never submitted, with all that they have. Requires that their rows are
// held against whoever refers to them (FOR UPDATE).
void delete_jobs(pg::Session& db, const std::vector<JobId>& jobs);

// Messages: to the workers that these sessions have something free; to the markets that attempts are over.
void offer_sessions(pg::Session& db, const std::vector<SessionId>& sessions);
void tell_markets_to_stop(pg::Session& db, const std::vector<EndedAttempt>& attempts,
                          std::string_view reason);

}  // namespace remotist::store
