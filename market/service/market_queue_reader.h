// Reads this market's own RabbitMQ queue: messages of workers and other markets for its machines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/id.h"

namespace remotist::market {

class MarketQueueReader {
 public:
  // Starts a thread with its own connection, which calls `on_message` for each message. Exceptions are logged
  // and the message is dropped: messages are hints.
  MarketQueueReader(const std::string& amqp_url, MarketId market,
                    std::function<void(std::string_view)> on_message);
  // Stops and joins the thread.
  ~MarketQueueReader();
  MarketQueueReader(const MarketQueueReader&) = delete;
  MarketQueueReader& operator=(const MarketQueueReader&) = delete;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace remotist::market
