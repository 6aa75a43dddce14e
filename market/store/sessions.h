// Machine sessions in the database: a machine's presence from hello to goodbye, or until its lease runs out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.h"
#include "core/pg/session.h"
#include "core/protocol.h"

namespace remotist::market {

// Who has connected; none when the token speaks for no machine.
std::optional<MachineId> machine_of_token(pg::Session& db, std::string_view token_hash);

struct Greeting {
  MachineId machine;
  std::string token_hash;
  MarketId market;
  ConnectionId connection;
  std::chrono::milliseconds lease;
  protocol::Hello hello;
};
struct OpenedMachine {
  SessionId session;
  std::vector<protocol::AttemptName> keep;
  std::vector<protocol::AttemptName> stop;
  std::vector<protocol::Assignment> assign;  // what the machine should have and does not, with new tokens
};
// Begins the machine's session, or goes on with the one it has; from now on `connection` speaks for it. None
// when the token is no longer valid. A transaction of its own.
std::optional<OpenedMachine> open_machine(pg::Session& db, const Greeting& greeting);

struct SeenSession {
  SessionId session;
  ConnectionId connection;
  bool taking_jobs;
};
// All in one statement. Gives those that are still theirs; the others were replaced, or their lease ran out.
// Writes a message for those that take jobs again.
std::vector<SessionId> note_seen(pg::Session& db, const std::vector<SeenSession>& seen);

struct RunningAttempt {
  SessionId session;
  protocol::AttemptName attempt;
  std::int64_t cpu_ms;
};
// What machines say they run: notes the CPU time. Gives those that are no longer theirs to run.
std::vector<RunningAttempt> note_running(pg::Session& db, const std::vector<RunningAttempt>& running);

struct ProgressNote {
  protocol::AttemptName attempt;
  std::string token_hash;
  double fraction;
  std::string message;
  bool operator==(const ProgressNote&) const = default;
};
void note_progress(pg::Session& db, const std::vector<ProgressNote>& notes);

// A machine that says goodbye is given no more jobs; unless it has connected again since.
void close_machine(pg::Session& db, SessionId session, ConnectionId connection);
// Ends the session if it has no attempt left, and is not taking jobs.
void end_idle_machine(pg::Session& db, SessionId session);

// A new token for the machine. The one with which it asks stays valid until the new one is used, because the
// answer may be lost; all others end, so at most two are valid. rate_limited before
// limits::kTokenRenewSecondsMin have passed since the last time (less if tokens live for less than four times
// that), unauthenticated when the machine is gone.
Result<protocol::Token> renew_token(pg::Session& db, MachineId machine, std::string_view token_hash_used,
                                    std::chrono::seconds lifetime);

}  // namespace remotist::market
