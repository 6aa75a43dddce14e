// The assignments of attempts that workers have begun, for the market that sends them.
#pragma once

#include <optional>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/protocol.h"

namespace remotist::market {

// An attempt, and the connection of its machine in this market.
struct BegunAttempt {
  MachineSessionId machine_session;
  ConnectionId connection;
  protocol::AttemptName name;
};
// Gives the attempts their tokens, in one statement. One result for each attempt, in order; none where
// nothing is to be sent: the attempt has ended, the connection is not its machine's any more, or it has a
// token already. Only a hello makes a token in place of another one, and its answer has that attempt.
std::vector<std::optional<protocol::Assignment>> begin_assignments(pg::Connection& db,
                                                                   const std::vector<BegunAttempt>& attempts);

}  // namespace remotist::market
