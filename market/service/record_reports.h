// Records what machines report about their attempts, many reports in one transaction: an attempt is accepted,
// or it ends and its job is finished or queued again.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/protocol.h"
#include "core/store/attempts.h"

namespace remotist::market {

struct AttemptAccepted {};

// The attempt has ended; the job's next state follows from the outcome.
struct AttemptEnded {
  AttemptOutcome outcome;
  std::optional<std::int64_t> cpu_ms{};  // as the agent measured it; else as of its last beat
  std::optional<FailureCode> failure_code{};
  std::string failure_detail{};
  std::vector<protocol::OutcomeFile> files{};
  bool leaving = false;  // with handed_back: the machine leaves; not the job's fault
};

// One machine's report about one attempt.
struct Report {
  MachineId machine;
  protocol::AttemptName attempt;
  std::optional<std::string> token_hash;  // none: the market itself reports
  std::variant<AttemptAccepted, AttemptEnded> what;
};

struct FilesDoNotFit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns which of the reports were recorded: those of current attempts, and those that settle a stopped
// attempt. The others are stale and change nothing. Everything is committed when this returns. Throws
// ConstraintViolated when a report violates a constraint (its files exceed the owner's storage),
// FilesDoNotFit when its files conflict with earlier ones of its attempt; nothing is recorded then.
std::vector<bool> record_reports(pg::Connection& db, const std::vector<Report>& reports);

}  // namespace remotist::market
