// What follows when an attempt says from which checkpoint it goes on, and when one is asked to hand its job
// over. All run in the caller's transaction and require lock_jobs() (core/store/locks.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/protocol.h"

namespace remotist::market {

struct SkippedCheckpoint {
  int sequence;
  std::string reason;
};

struct ResumeReport {
  int sequence = 0;  // of the checkpoint that it goes on from; 0: it begins afresh
  std::vector<SkippedCheckpoint> skipped{};
};

// False: the attempt has said so before, and nothing changes.
bool note_resumed(pg::Connection& db, const protocol::AttemptName& attempt, const ResumeReport& report);
// Whether the attempt may go on from this checkpoint.
bool is_usable(pg::Connection& db, const protocol::AttemptName& attempt, int sequence);
// Makes the checkpoints of earlier attempts unusable that are newer than the one that it goes on from.
void pass_over_checkpoints(pg::Connection& db, const protocol::AttemptName& attempt,
                           const ResumeReport& report);
// Pays the machine that took the checkpoint for the CPU time up to there, from the job's escrow.
void pay_saved(pg::Connection& db, JobId job, int sequence);

// Where the machine of an attempt is.
struct LeavingAttempt {
  MachineSessionId machine_session;
  MarketId market;
};
// The current attempt has limits::kHandOverSecondsMax from the first call on. None: it has ended.
std::optional<LeavingAttempt> ask_to_leave(pg::Connection& db, const protocol::AttemptName& attempt);

}  // namespace remotist::market
