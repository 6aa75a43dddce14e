// Names of the RabbitMQ queues, for code that writes messages to the outbox without using AMQP.
#pragma once

#include <string>

namespace remotist::amqp {

// Jobs or machine sessions that a worker should look at: {"job": id}, {"jobs": [id …]} or
// {"machine_sessions": [id …]}. Quorum. A message is a hint: consumers act on what the database says.
inline constexpr const char* kJobsReady = "jobs.ready";

// A market's own queue, with messages for its machines: {"assign": [{"machine_session": id, "job": {…}} …]},
// {"stop": [{"machine_session", "job", "attempt"} …], "reason"}, and {"close": [machine session id …],
// "reason"}. The queue is exclusive to the market's connection and deleted with it.
inline constexpr const char* kMarketQueuePrefix = "market.";
inline std::string market_queue(const std::string& market) {
  return kMarketQueuePrefix + market;
}

}  // namespace remotist::amqp
