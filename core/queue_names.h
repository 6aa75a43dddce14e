// Names of the RabbitMQ queues, for code that writes messages to the outbox without using AMQP. Their
// messages are in core/queue_messages.h and docs/queues.md.
#pragma once

#include <cstddef>
#include <string>

namespace remotist::amqp {

// For the workers. Quorum.
inline constexpr const char* kJobsReady = "jobs.ready";

// A market's own queue. It is exclusive to the market's connection and deleted with it.
inline constexpr const char* kMarketQueuePrefix = "market.";
inline std::string market_queue(const std::string& market) {
  return kMarketQueuePrefix + market;
}

// Of a message.
inline constexpr std::size_t kBodyBytesMax = 1 << 20;

}  // namespace remotist::amqp
