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
      assign;  // attempts that the machine should hold and does not, with new tokens
};
// Begins the machine's session, or resumes its open one, and assigns it to the connection. Compares the
// attempts that the machine holds with those of its session. Empty when the token is no longer valid. Writes
// a message when the machine takes jobs.
std::optional<OpenedMachineSession> open_machine_session(pg::Connection& db, const MachineHello& hello);

}  // namespace remotist::market
