// Machines in the database. All refuse with unauthenticated; a machine that the caller may not see is
// not_found.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/credits.h"
#include "core/id.h"
#include "core/pg/connection.h"

namespace remotist::market {

struct RequestOrigin;

// A machine to create; service/new_machine.h validates the fields.
struct NewMachine {
  std::string name{};
  std::int64_t cpu_cores = 1;
  std::int64_t ram_mb = 1024;
  std::int64_t disc_mb = 1024;
  Credits price_per_cpu_second{};
};

struct Machine {
  MachineId id;
  AccountId account;
  std::string name;
  std::int64_t cpu_cores;
  std::int64_t ram_mb;
  std::int64_t disc_mb;
  Credits price_per_cpu_second;
  std::string state;  // offline, idle, busy, paused or banned
  std::string created_at;
  std::optional<std::string> seen_at;  // while it is connected
  std::optional<std::string> ban_reason;
};

// A machine may view itself with its own token.
Result<Machine> view_machine(pg::Connection& db, std::string_view token_hash, MachineId id);

struct MachinePage {
  std::vector<Machine> machines;  // newest first
  bool more;
};
Result<MachinePage> list_machines(pg::Connection& db, std::string_view token_hash, int page, int rows);

// Sets whether the machine is offered new jobs; its running attempts go on. For its owner, or for the machine
// itself, which may omit `id`. A pause takes effect at once, its end with the machine's next beat.
Result<Machine> pause_machine(pg::Connection& db, std::string_view token_hash,
                              const std::optional<MachineId>& id, bool paused);

// How many machines of the caller are in each state; a machine sees itself alone.
struct MachineHealth {
  std::int64_t idle;
  std::int64_t busy;
  std::int64_t paused;
  std::int64_t offline;
  std::int64_t banned;
};
Result<MachineHealth> machine_health(pg::Connection& db, std::string_view token_hash);

// Deletes machines that were removed more than a day ago and have no session, attempt, settlement or token.
void delete_removed_machines(pg::Connection& db);

// The functions below run in the caller's transaction.

// Makes everybody else who creates a machine for the caller's account wait.
void lock_account_tally(pg::Connection& db, std::string_view token_hash);

// invalid_field when the account has a machine of this name; quota_exceeded
// (limits::kMachinesPerAccountMax, with those that were removed within a day). Requires lock_account_tally().
Result<Machine> create_machine(pg::Connection& db, std::string_view token_hash, const NewMachine& machine);

// Locks the machine's session, if it has one, for its owner or an admin. Before lock_machine().
void lock_machine_session(pg::Connection& db, std::string_view token_hash, MachineId id);

// Locks the machine for its owner, so that it is assigned no job.
struct LockedMachine {
  std::optional<std::string> ban_reason;
};
Result<LockedMachine> lock_machine(pg::Connection& db, std::string_view token_hash, MachineId id);

// Both end the machine's tokens. Another account's machine, for an admin, whose account it returns; empty
// when there is none. Requires lock_machine_session().
std::optional<AccountId> remove_as_admin(pg::Connection& db, std::string_view token_hash, MachineId id);
// False: it has an attempt, and stays. Requires lock_machine().
bool remove_idle_machine(pg::Connection& db, MachineId id);

// Stores a new machine token, which ends all older ones, and the machine's public key, if it has one.
// Requires lock_machine().
struct MachineToken {
  AccountId account;
  std::string issued_at;
  std::string expires_at;
};
MachineToken issue_token(pg::Connection& db, MachineId id, std::string_view machine_token_hash,
                         std::chrono::seconds lifetime, const std::optional<std::string>& public_key);

}  // namespace remotist::market
