// Evicts machines: banned ones, ones removed by an admin, and those of a disabled account. Their machine
// sessions are offered no more jobs; a worker requeues their attempts and ends the sessions
// (worker/store/reaping.h). Both functions run in the caller's transaction, which must keep the machine from
// connecting again, and write messages that make the markets close the sockets. If a message is lost, the
// market closes the socket after the machine's next beat.
#pragma once

#include <string_view>

#include "core/id.h"
#include "core/pg/connection.h"

namespace remotist::market {

// `reason` is sent to the machine.
void evict_machine(pg::Connection& db, MachineId machine, std::string_view reason);
void evict_machines_of(pg::Connection& db, AccountId account, std::string_view reason);

}  // namespace remotist::market
