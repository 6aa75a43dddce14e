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

// A machine to create; service/machines.h validates the fields.
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

// invalid_field when the account has a machine of this name; quota_exceeded
// (limits::kMachinesPerAccountMax).
Result<Machine> create_machine(pg::Connection& db, std::string_view token_hash, const NewMachine& machine);

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

// Ends its tokens. For its owner: wrong_state while it has an attempt. For an admin: evicts it (evictions.h),
// which writes messages, and records it in the audit log.
Result<void> remove_machine(pg::Connection& db, std::string_view token_hash, MachineId id,
                            const RequestOrigin& origin);

// Issues a new machine token, which ends all older ones, and stores the machine's public key, if it has one.
// forbidden while it is banned.
struct StartedMachine {
  AccountId account;
  std::string issued_at;
  std::string expires_at;
};
Result<StartedMachine> start_machine(pg::Connection& db, std::string_view token_hash, MachineId id,
                                     std::string_view machine_token_hash, std::chrono::seconds lifetime,
                                     const std::optional<std::string>& public_key);

}  // namespace remotist::market
