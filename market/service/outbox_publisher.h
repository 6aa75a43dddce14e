// Publishes the messages of the outbox to RabbitMQ.
//
// Claims a batch (no transaction stays open), publishes it with confirms, deletes the confirmed messages and
// releases the others to be published again. A message may therefore arrive more than once, but is never
// lost: if this process dies, its claims expire and another market claims them. Each market runs one.
#pragma once

#include <memory>
#include <string>

#include "market/service/health.h"
#include "market/service/metrics.h"

namespace remotist::market {

class OutboxPublisher {
 public:
  // Starts a thread with its own pg connection and broker connection. Throws std::invalid_argument when
  // `amqp_url` is not one; waits for a broker that cannot be reached.
  OutboxPublisher(const std::string& database_url, const std::string& amqp_url, Metrics& metrics,
                  Health& health);
  // Stops the current batch (claims that were not confirmed expire) and joins the thread.
  ~OutboxPublisher();

  // Polls now instead of at the next interval. Thread-safe and cheap.
  void wake() noexcept;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace remotist::market
