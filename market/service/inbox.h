// This market's own queue in RabbitMQ: what the workers and other markets have to tell its machines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/id.h"

namespace remotist::market {

class Inbox {
 public:
  // Starts a thread with a connection of its own, on which `deliver` is called for each message. What it
  // throws is logged: messages are hints, and one that cannot be read is no reason to stop.
  Inbox(const std::string& amqp_url, MarketId market, std::function<void(std::string_view)> deliver);
  // Joins.
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace remotist::market
