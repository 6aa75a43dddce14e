// Carries committed messages from the outbox to RabbitMQ.
//
// Claims a batch (no transaction stays open), publishes it with confirms, deletes what the broker confirmed
// and releases the rest to be tried again. A message may therefore arrive more than once and never gets lost:
// if this process dies, its claims run out and another market takes them. Run one in each market.
#pragma once

#include <memory>
#include <string>

#include "market/service/health.h"
#include "market/service/metrics.h"

namespace remotist::market {

class OutboxPublisher {
 public:
  // Starts a thread with a database session and a broker connection of its own. Throws std::invalid_argument
  // when `amqp_url` is not one; a broker that is away is waited for.
  OutboxPublisher(const std::string& database_url, const std::string& amqp_url, Metrics& metrics,
                  Health& health);
  // Ends the batch under way (its claims run out if it was not confirmed) and joins.
  ~OutboxPublisher();

  // There may be something new: look now instead of at the next poll. Thread-safe, costs a few nanoseconds.
  void wake() noexcept;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace remotist::market
