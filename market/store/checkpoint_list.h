// The checkpoints of a job: for the machine that goes on from one, and for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.h"
#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/caller.h"
#include "market/store/checkpoints.h"

namespace remotist::market {

// For a machine: all but its chunks.
struct UsableCheckpoint {
  int sequence;
  int attempt;
  CheckpointManifest manifest;
  std::optional<std::int64_t> cpu_ms_max;  // of the attempt that goes on from it; none: the machine is free
};
// Newest first. Requires caller.attempt; unauthenticated, stale_attempt.
Result<std::vector<UsableCheckpoint>> usable_checkpoints(pg::Connection& db, const UserOrAttempt& caller,
                                                         JobId job);
// In order. Likewise; not_found when no usable checkpoint of the job has this sequence.
Result<std::vector<std::string>> chunks_of_checkpoint(pg::Connection& db, const UserOrAttempt& caller,
                                                      JobId job, int sequence);

// For the job's owner or an admin.
struct KeptCheckpoint {
  int sequence;
  int attempt;
  std::string at;
  std::int64_t size_bytes;
  std::int64_t sent_bytes;
  double pause_ms;
  CheckpointPosition position;
  std::string r_version;
  std::string architecture;
  std::vector<std::string> packages;
  std::int64_t cpu_ms;  // of the whole job
  std::optional<std::string> unusable_because;
};
// Newest first; none once the job has ended. unauthenticated, not_found.
Result<std::vector<KeptCheckpoint>> kept_checkpoints(pg::Connection& db, std::string_view token_hash,
                                                     JobId job);

}  // namespace remotist::market
