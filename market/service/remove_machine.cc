#include "market/service/remove_machine.h"

#include "market/service/audited.h"
#include "market/service/evictions.h"
#include "market/store/machines.h"

namespace remotist::market {

Result<void> remove_machine(pg::Connection& db, std::string_view token_hash, MachineId id,
                            const RequestOrigin& origin) {
  return audited(db, origin, [&](AuditEvents& events) -> Result<void> {
    lock_machine_session(db, token_hash, id);
    if (const auto admin = remove_as_admin(db, token_hash, id)) {
      evict_machine(db, id, "an admin has removed this machine");
      events.push_back({.action = "machine_removed", .account = *admin, .subject = id.text()});
      return {};
    }
    if (const auto locked = lock_machine(db, token_hash, id); !locked) return locked.refusal();
    if (remove_idle_machine(db, id)) return {};
    return refuse(Code::wrong_state, "the machine has a job: stop its volunteer first");
  });
}

}  // namespace remotist::market
