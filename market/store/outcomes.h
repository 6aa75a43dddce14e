// What machines say of their attempts, many at a time in one transaction.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "core/id.h"
#include "core/pg/session.h"
#include "core/protocol.h"
#include "core/store/attempts.h"

namespace remotist::market {

struct Accepted {};

// It ended, for whatever reason; the job goes on from there.
struct Over {
  store::AttemptOutcome outcome;
  std::optional<std::int64_t> cpu_ms{};  // as the agent measured it; else what its last beat said
  std::string failure_code{};
  std::string failure_detail{};
  std::vector<protocol::OutcomeFile> files{};
  bool leaving = false;  // with handed_back: the machine goes, and nothing is wrong with the job
};

// One thing that one machine says of one attempt.
struct Report {
  MachineId machine;
  protocol::AttemptName attempt;
  std::optional<std::string> token_hash;  // none when the market itself has noticed it
  std::variant<Accepted, Over> what;
};

struct FilesDoNotFit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Which of the reports were of current attempts, or of one that was stopped and is settled by this, and
// count; the others are stale and changed nothing. All
// that count are committed when this returns. Throws ConstraintViolated when one of them breaks a rule of the
// database (its files do not fit the owner's storage), FilesDoNotFit when the files of one cannot stand
// beside those that its attempt brought before, and then none of them counts.
std::vector<bool> record_reports(pg::Session& db, const std::vector<Report>& reports);

}  // namespace remotist::market
