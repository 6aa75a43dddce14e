// The attempts of a job, for its owner and admins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/resumed_attempts.h"

namespace remotist::market {

struct ListedAttempt {
  int number;
  MachineId machine;
  std::optional<std::string> machine_name;  // for its owner and admins
  std::string assigned_at;
  std::optional<std::string> accepted_at;
  std::optional<std::string> ended_at;
  std::optional<std::string> outcome;
  std::int64_t cpu_ms;
  std::int64_t paid_micro;
  std::int64_t saved_cpu_ms;        // up to its newest checkpoint from which another one went on
  std::optional<int> resumed_from;  // sequence of a checkpoint; none: it began afresh
  std::vector<SkippedCheckpoint> skipped;
  int checkpoints;  // that it recorded
};

struct AttemptPage {
  std::vector<ListedAttempt> attempts;  // oldest first
  bool more;
};
// unauthenticated, not_found.
Result<AttemptPage> list_attempts(pg::Connection& db, std::string_view token_hash, JobId job, int page,
                                  int rows_a_page);

}  // namespace remotist::market
