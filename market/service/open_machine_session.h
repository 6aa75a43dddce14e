// What follows a machine's hello.
#pragma once

#include <optional>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/protocol.h"
#include "market/store/machine_sessions.h"

namespace remotist::market {

struct OpenedMachineSession {
  MachineSessionId machine_session;
  std::vector<protocol::AttemptName> keep;
  std::vector<protocol::AttemptName> stop;
  std::vector<protocol::Assignment>
      assign;  // attempts that the machine has not accepted and does not hold, with new tokens
  std::vector<protocol::AttemptName> lost;     // attempts that it has accepted and does not hold, to be ended
  std::vector<protocol::AttemptName> leaving;  // of `keep`: those that it was asked to hand over
};
// Begins the machine's session, or resumes its open one, and assigns it to the connection. Compares the
// attempts that the machine holds with those of its session, and stores what software it has. Empty when the
// token is no longer valid. Writes a message when the machine takes jobs.
std::optional<OpenedMachineSession> open_machine_session(pg::Connection& db, const MachineHello& hello);

}  // namespace remotist::market
