#include "market/service/machines.h"

#include "core/json.h"
#include "market/service/accounts.h"

namespace remotist::market {

Result<Machine> add_machine(pg::Connection& db, std::string_view token_hash, const NewMachine& machine) {
  return db.transact([&] {
    lock_account_tally(db, token_hash);
    return create_machine(db, token_hash, machine);
  });
}

Result<StartedVolunteer> start_volunteer(pg::Connection& db, const SigningKey& market_key,
                                         std::string_view token_hash, MachineId machine,
                                         std::chrono::seconds lifetime,
                                         const std::optional<std::string>& public_key) {
  const std::string token = fresh_token("machine");
  const auto machine_token = db.transact([&]() -> Result<MachineToken> {
    const auto locked = lock_machine(db, token_hash, machine);
    if (!locked) return locked.refusal();
    if (locked->ban_reason)
      return refuse(Code::forbidden, "an admin has banned this machine: " + *locked->ban_reason);
    return issue_token(db, machine, remotist::token_hash(token), lifetime, public_key);
  });
  if (!machine_token) return machine_token.refusal();
  StartedVolunteer started{token, machine_token->expires_at, std::nullopt};
  if (public_key) {
    started.statement = signed_statement(market_key, {machine, machine_token->account, *public_key,
                                                      machine_token->issued_at, machine_token->expires_at});
  }
  return started;
}

std::string signed_statement(const SigningKey& market_key, const MachineStatement& statement) {
  const nlohmann::json document{{"machine", statement.machine.text()},
                                {"account", statement.account.text()},
                                {"public_key", base64url_of(statement.public_key)},
                                {"issued_at", statement.issued_at},
                                {"expires_at", statement.expires_at},
                                {"signed_by", base64url_of(market_key.public_key())}};
  const std::string said = base64url_of(document.dump());
  return said + "." + base64url_of(market_key.sign(std::string{kStatementContext} + said));
}

}  // namespace remotist::market
