// Machine sessions in the database: from hello to goodbye, or until the lease expires.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/protocol.h"

namespace remotist::market {

// The machine of a token; empty when the token is not a valid machine token.
std::optional<MachineId> machine_of_token(pg::Connection& db, std::string_view token_hash);

struct MachineHello {
  MachineId machine;
  std::string token_hash;
  MarketId market;
  ConnectionId connection;
  std::chrono::milliseconds lease;
  protocol::Hello message;
};
struct OpenedMachineSession {
  MachineSessionId machine_session;
  std::vector<protocol::AttemptName> keep;
  std::vector<protocol::AttemptName> stop;
  std::vector<protocol::Assignment>
      assign;  // attempts that the machine should hold and does not, with new tokens
};
// Begins the machine's session, or resumes its open one, and assigns it to `connection`. Empty when the token
// is no longer valid. Runs its own transaction.
std::optional<OpenedMachineSession> open_machine_session(pg::Connection& db, const MachineHello& hello);

struct SeenMachineSession {
  MachineSessionId machine_session;
  ConnectionId connection;
  bool taking_jobs;
};
// Renews the leases. Returns the sessions that still belong to their connections; the others were replaced,
// or their lease has expired. Writes a message for those that take jobs again.
std::vector<MachineSessionId> record_seen_sessions(pg::Connection& db,
                                                   const std::vector<SeenMachineSession>& seen);

struct RunningAttempt {
  MachineSessionId machine_session;
  protocol::AttemptName attempt;
  std::int64_t cpu_ms;
};
// Records the CPU time of the attempts that beats name. Returns those that are no longer current.
std::vector<RunningAttempt> record_running(pg::Connection& db, const std::vector<RunningAttempt>& running);

struct AttemptProgress {
  protocol::AttemptName attempt;
  std::string token_hash;
  double fraction;
  std::string message;
  bool operator==(const AttemptProgress&) const = default;
};
void record_progress(pg::Connection& db, const std::vector<AttemptProgress>& notes);

// After goodbye: offers no more jobs to the session, unless the machine has connected again.
void stop_offering(pg::Connection& db, MachineSessionId session, ConnectionId connection);
// Ends the session if it has no attempts and takes no jobs.
void end_idle_machine_session(pg::Connection& db, MachineSessionId session);

// Issues a new machine token. The one used for the request stays valid until the new one is used, because the
// answer may be lost; all others end, so at most two are valid. rate_limited before
// limits::kTokenRenewSecondsMin have passed since the last time (less if tokens live for less than four times
// that), unauthenticated when the machine was removed.
Result<protocol::Token> renew_token(pg::Connection& db, MachineId machine, std::string_view token_hash_used,
                                    std::chrono::seconds lifetime);

}  // namespace remotist::market
