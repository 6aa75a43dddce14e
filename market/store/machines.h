// Machines in the database. All refuse with unauthenticated; what the caller may not see does not exist for
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/credits.h"
#include "core/id.h"
#include "core/pg/session.h"

namespace remotist::market {

struct Origin;

// What an owner says of a machine; the rules about each field are service/machines.h's.
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
Result<Machine> create_machine(pg::Session& db, std::string_view token_hash, const NewMachine& machine);

// Also for the machine itself, with its own token.
Result<Machine> view_machine(pg::Session& db, std::string_view token_hash, MachineId id);

struct MachinePage {
  std::vector<Machine> machines;  // newest first
  bool more;
};
Result<MachinePage> list_machines(pg::Session& db, std::string_view token_hash, int page, int rows);

// Whether it is given new jobs; what it has goes on. As its owner, or as the machine itself, which need not
// name itself. A pause holds at once, its end with the machine's next beat.
Result<Machine> pause_machine(pg::Session& db, std::string_view token_hash,
                              const std::optional<MachineId>& id, bool paused);

// How many machines of the caller are in each state; a machine sees itself alone.
struct MachineHealth {
  std::int64_t idle;
  std::int64_t busy;
  std::int64_t paused;
  std::int64_t offline;
  std::int64_t banned;
};
Result<MachineHealth> machine_health(pg::Session& db, std::string_view token_hash);

// Its tokens end. As its owner: wrong_state while it has a job. As an admin: its session is barred
// (bar_machine), which writes messages, and it goes into the audit log.
Result<void> remove_machine(pg::Session& db, std::string_view token_hash, MachineId id, const Origin& origin);

// forbidden while it is banned. A new token for the machine, after which no older one is valid; the key by
// which peers will know it, if it has one.
struct MachineSession {
  AccountId account;
  std::string issued_at;
  std::string expires_at;
};
Result<MachineSession> start_machine(pg::Session& db, std::string_view token_hash, MachineId id,
                                     std::string_view machine_token_hash, std::chrono::seconds lifetime,
                                     const std::optional<std::string>& public_key);

}  // namespace remotist::market
