// Lending machines: the rules for what an owner says of one, and what its agent gets to start with.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/digest.h"
#include "core/result.h"
#include "market/store/machines.h"

namespace remotist::market {

Result<void> check_new_machine(const NewMachine& machine);

// Owners think in credits per hour of one CPU, the ledger in whole micro-credits per second: the nearest one.
Credits per_cpu_second(Credits per_cpu_hour);
Credits per_cpu_hour(Credits per_cpu_second);

struct StartedVolunteer {
  std::string token;  // shown once; only its digest is stored
  std::string expires_at;
  // By which peers recognise the machine; only for one that has a key of its own, or anybody who was shown
  // the statement could show it on.
  std::optional<std::string> statement;
};
Result<StartedVolunteer> start_volunteer(pg::Session& db, const SigningKey& market_key,
                                         std::string_view token_hash, MachineId machine,
                                         std::chrono::seconds lifetime,
                                         const std::optional<std::string>& public_key);

// "<base64url of a JSON object>.<base64url of the signature>". What is signed is kStatementContext followed
// by the first part as it stands, so that nothing else that this key signs can be taken for a statement.
inline constexpr std::string_view kStatementContext = "remotist machine statement 1\n";
struct MachineStatement {
  MachineId machine;
  AccountId account;
  std::string public_key;
  std::string issued_at;
  std::string expires_at;
};
std::string signed_statement(const SigningKey& market_key, const MachineStatement& statement);

}  // namespace remotist::market
