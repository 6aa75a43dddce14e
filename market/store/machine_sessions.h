// Machine sessions in the database: from hello to goodbye, or until the lease expires.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
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
  std::chrono::milliseconds loss_mean;  // mean time between losses of a machine
  protocol::Hello message;
};
// Assigns the machine's open session, or a new one, to the connection, and locks its row. Empty: another
// transaction has begun one meanwhile. Runs in the caller's transaction.
std::optional<MachineSessionId> resume_or_begin_session(pg::Connection& db, const MachineHello& hello);

// Stores the machine's R version, architecture and packages.
void set_software(pg::Connection& db, MachineId machine, const protocol::Hello& hello);

// Ends the machine's older tokens, if this one was renewed.
void end_older_tokens(pg::Connection& db, MachineId machine, std::string_view token_hash);

// An open attempt of a session. The assignment has no token: the database has only its hash.
struct OpenAttempt {
  protocol::Assignment assignment;
  std::optional<std::string> token_hash;  // none: no market has sent its assignment yet
  bool accepted;
  bool leaving;  // it was asked to hand its job over
};
std::vector<OpenAttempt> open_attempts(pg::Connection& db, MachineSessionId session);
// Stores the hashes of the assignments' tokens; the attempts' old tokens are no longer valid.
void set_tokens(pg::Connection& db, const std::vector<protocol::Assignment>& assignments);

struct SeenMachineSession {
  MachineSessionId machine_session;
  ConnectionId connection;
  bool taking_jobs;
};
struct RenewedMachineSession {
  MachineSessionId machine_session;
  bool offers;  // it takes jobs again
};
// Renews the leases. Returns the sessions that still belong to their connections; the others were replaced,
// or their lease has expired.
std::vector<RenewedMachineSession> renew_leases(pg::Connection& db,
                                                const std::vector<SeenMachineSession>& seen);

// Sessions that are assigned no more jobs and will be ended by a worker: the machine's, or those of all the
// account's machines.
struct EvictedMachineSession {
  MachineSessionId machine_session;
  MarketId market;  // the market with the socket
};
std::vector<EvictedMachineSession> mark_evicted(pg::Connection& db,
                                                const std::variant<AccountId, MachineId>& whose);

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
