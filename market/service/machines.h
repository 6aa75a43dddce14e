// Adding machines; the token and the statement with which a machine's agent starts.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/digest.h"
#include "core/result.h"
#include "market/store/machines.h"

namespace remotist::market {

// create_machine() in a transaction of its own, one at a time for an account.
Result<Machine> add_machine(pg::Connection& db, std::string_view token_hash, const NewMachine& machine);

struct StartedVolunteer {
  std::string token;  // shown once; only its digest is stored
  std::string expires_at;
  // With which peers recognise the machine. Only for a machine with its own key: otherwise anybody who has
  // seen the statement could present it.
  std::optional<std::string> statement;
};
// Issues a new machine token, which ends all older ones. Refuses with unauthenticated, not_found, or
// forbidden while the machine is banned.
Result<StartedVolunteer> start_volunteer(pg::Connection& db, const SigningKey& market_key,
                                         std::string_view token_hash, MachineId machine,
                                         std::chrono::seconds lifetime,
                                         const std::optional<std::string>& public_key);

// "<base64url of a JSON object>.<base64url of the signature>". What is signed is kStatementContext followed
// by the first part as it stands, so that nothing else signed with this key is a valid statement.
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
