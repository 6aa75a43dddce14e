// Records what machines have said in beats and progress messages, for all machines together.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/pg/connection.h"
#include "market/service/volunteer.h"

namespace remotist::market {

// Renews the leases of the volunteers that have sent beats, then records their attempts' CPU time and
// progress. Tells each volunteer what was recorded and which of its attempts are stale, and closes those
// whose machine session is over. `committed` is called when the leases are: the outbox may have new messages.
void record_beats(pg::Connection& db, const std::vector<std::shared_ptr<Volunteer>>& volunteers,
                  const std::function<void()>& committed);

}  // namespace remotist::market
