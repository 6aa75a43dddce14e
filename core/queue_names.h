// The queues of RabbitMQ by name, for those who write messages to the outbox without speaking AMQP.
#pragma once

#include <string>

namespace remotist::amqp {

// "Look at these": {"job": id}, {"jobs": [id …]} or {"sessions": [id …]}. Quorum. A message is a hint, never
// the truth: consumers look at the database.
inline constexpr const char* kJobsReady = "jobs.ready";

// What a market has to tell its machines: {"assign": [{"session": id, "job": {…}} …]}, {"stop": [{"session",
// "job", "attempt"} …], "reason"}, and {"close": [session id …], "reason"}. It belongs to the market's
// connection and goes with it.
inline constexpr const char* kMarketQueuePrefix = "market.";
inline std::string market_queue(const std::string& market) {
  return kMarketQueuePrefix + market;
}

}  // namespace remotist::amqp
