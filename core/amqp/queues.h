// The queues that market and worker share: their names, and how each is declared. Both declare them, so that
// either may start first.
#pragma once

#include "core/amqp/connection.h"

namespace remotist::amqp {

// "Look at job X": {"job": id}. Quorum. A message is a hint, never the truth: consumers look at the database.
inline constexpr const char* kJobsReady = "jobs.ready";

void declare_queues(Connection& connection);

}  // namespace remotist::amqp
