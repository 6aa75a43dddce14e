// Machines that lose their place at once: banned, removed by an admin, or of an account that was disabled.
// What they had is handed to others by a worker (worker/store/reaping.h). Both run in the caller's
// transaction, which keeps the machine from coming back, and write messages by which the markets close the
// sockets; a message that is lost is made up for with the machine's next beat.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/session.h"

namespace remotist::market {

// `reason` is what the machine is told.
void bar_machine(pg::Session& db, MachineId machine, std::string_view reason);
void bar_machines_of(pg::Session& db, AccountId account, std::string_view reason);

}  // namespace remotist::market
