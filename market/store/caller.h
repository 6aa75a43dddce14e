// Callers and the refusals that concern them. Each SQL statement checks token and permission itself; these
// are the refusals for its result.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/id.h"
#include "core/result.h"

namespace remotist::market {

inline Refusal no_valid_token() {
  return refuse(Code::unauthenticated,
                "the token is unknown, expired, revoked or not of the kind needed here: log in again");
}

inline Refusal no_such_job(JobId job) {
  return refuse(Code::not_found, "there is no job " + job.text() + " of yours");
}

inline Refusal stale_attempt() {
  return refuse(Code::stale_attempt, "this attempt is not the job's current one: stop working on it");
}

// Not a constraint of the database, because the history is thinned first; refused like one.
inline constexpr const char* kHistoryFits = "history_is_within_its_share";

// The refusal for a violated storage constraint; empty for any other constraint.
inline std::optional<Refusal> quota_refusal(std::string_view constraint) {
  if (constraint == "storage_is_never_over_quota") {
    return refuse(
        Code::quota_exceeded,
        "the account's storage is full: delete jobs that you no longer need; the chunks that only they "
        "referred to go within a day");
  }
  if (constraint == kHistoryFits) {
    return refuse(
        Code::quota_exceeded,
        "the newest values of a job's watched variables may take half of what machines may bring for "
        "it, which is an eighth of its owner's storage: watch something smaller");
  }
  if (constraint == "checkpoints_are_within_their_share" || constraint == "checkpoints_are_within_quota") {
    return refuse(
        Code::quota_exceeded,
        "the checkpoints of one job may take half of its owner's storage, those of all its owner's jobs "
        "together as much as that storage, beside everything else: this checkpoint does not fit");
  }
  if (constraint == "results_are_within_their_share") {
    return refuse(Code::quota_exceeded,
                  "what machines bring for one job may take a quarter of its owner's storage: files, values "
                  "of watched variables, and chunks that nothing has yet");
  }
  return std::nullopt;
}

// The attempt that a machine claims to work on.
struct AttemptClaim {
  JobId job;
  int number;
  std::string token_hash;
};

// A user, or with `attempt` the machine that works on a job.
struct UserOrAttempt {
  std::string token_hash;
  std::optional<AttemptClaim> attempt{};
  bool for_checkpoint = false;  // chunks of this machine are for its job's checkpoints; requires `attempt`
};

}  // namespace remotist::market
