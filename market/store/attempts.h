// Attempts as machines report about them. All run in the caller's transaction and require lock_jobs()
// (core/store/locks.h) for the jobs of the attempts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/protocol.h"

namespace remotist::market {

// An attempt as a machine names it.
struct NamedAttempt {
  MachineId machine;
  protocol::AttemptName name;
  std::optional<std::string> token_hash;  // none: the market itself names it
};
// By index: whether it is its job's current attempt, and the machine's.
std::vector<bool> are_current(pg::Connection& db, const std::vector<NamedAttempt>& attempts);

// Accepting twice is accepting once. Requires that they are current.
void accept_attempts(pg::Connection& db, const std::vector<protocol::AttemptName>& attempts);

// A small file that came with an attempt's outcome. `file` must outlive it.
struct AttemptFile {
  protocol::AttemptName attempt;
  const protocol::OutcomeFile* file;
};
// Stores the files instead of those of the same name and of those of earlier attempts. Requires
// lock_storages().
void replace_files(pg::Connection& db, const std::vector<AttemptFile>& files);

}  // namespace remotist::market
