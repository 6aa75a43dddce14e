// The queues that market and worker share: their names, and how each is declared. Both declare them, so that
// either may start first.
#pragma once

#include "core/amqp/connection.h"
#include "core/queue_names.h"

namespace remotist::amqp {

void declare_queues(Connection& connection);

}  // namespace remotist::amqp
