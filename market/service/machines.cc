#include "market/service/machines.h"

#include "core/json.h"
#include "core/limits.h"
#include "market/service/accounts.h"
#include "market/service/checks.h"

namespace remotist::market {
namespace {

constexpr std::int64_t kSecondsPerHour = 3600;

}  // namespace

Result<void> check_new_machine(const NewMachine& machine) {
  if (auto r = check_name("name", machine.name, limits::kMachineNameBytesMax); !r) return r;
  if (auto r = check_range("cpu", machine.cpu_cores, 1, limits::kCpuCoresMax, "cores"); !r) return r;
  if (auto r = check_range("ram", machine.ram_mb, limits::kRamMbMin, limits::kRamMbMax, "MB"); !r) return r;
  return check_range("disc", machine.disc_mb, limits::kDiscMbMin, limits::kDiscMbMax, "MB");
}

Credits per_cpu_second(Credits per_cpu_hour) {
  return Credits::micro((per_cpu_hour.micro() + kSecondsPerHour / 2) / kSecondsPerHour);
}

Credits per_cpu_hour(Credits per_cpu_second) {
  return Credits::micro(per_cpu_second.micro() * kSecondsPerHour);
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
