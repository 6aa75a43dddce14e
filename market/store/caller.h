// Who calls. Token, right and row are one SQL statement; this is what a statement's answer of "no such
// caller" becomes.
#pragma once

#include <optional>
#include <string>

#include "core/id.h"
#include "core/result.h"

namespace remotist::market {

inline Refusal no_valid_token() {
  return refuse(Code::unauthenticated,
                "the token is unknown, expired, revoked or not of the kind needed here: log in again");
}

inline Refusal stale_attempt() {
  return refuse(Code::stale_attempt, "this attempt is not the job's current one: stop working on it");
}

// What a machine says of itself when it works on a job.
struct AttemptClaim {
  JobId job;
  int number;
  std::string token_hash;
};

// Either a user, or with an attempt a machine that works on a job.
struct UserOrAttempt {
  std::string token_hash;
  std::optional<AttemptClaim> attempt{};
};

}  // namespace remotist::market
