#include "core/amqp/queues.h"

namespace remotist::amqp {

void declare_queues(Connection& connection) {
  connection.declare_quorum_queue(kJobsReady);
}

}  // namespace remotist::amqp
