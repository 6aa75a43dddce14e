#include "market/service/ban_machine.h"

#include <optional>
#include <string>

#include "market/service/evictions.h"
#include "market/store/admin.h"

namespace remotist::market {

Result<void> ban_machine(pg::Connection& db, std::string_view token_hash, MachineId machine,
                         std::string_view reason) {
  lock_machine_session(db, token_hash, machine);
  if (auto banned = set_ban(db, token_hash, machine, std::string{reason}); !banned) return banned;
  evict_machine(db, machine, "an admin has banned this machine");
  return {};
}

Result<void> unban_machine(pg::Connection& db, std::string_view token_hash, MachineId machine) {
  lock_machine_session(db, token_hash, machine);
  return set_ban(db, token_hash, machine, std::nullopt);
}

}  // namespace remotist::market
