#include "market/service/market_queue_reader.h"

#include <thread>
#include <vector>

#include "core/amqp/consumer.h"
#include "core/amqp/queues.h"
#include "core/log.h"
#include "core/threads.h"

namespace remotist::market {

class MarketQueueReader::Loop {
 public:
  Loop(const std::string& amqp_url, MarketId market, std::function<void(std::string_view)> on_message)
      : on_message_(std::move(on_message)),
        consumer_(amqp::Address::of(amqp_url), options_for(market),
                  [queue = amqp::market_queue(market.text())](amqp::Connection& connection) {
                    connection.declare_private_queue(queue);
                  }) {
    const SignalsBlocked blocked;
    thread_ = std::jthread{[this](const std::stop_token& stop) {
      consumer_.run([this](std::span<const amqp::Delivered> batch) { return handle(batch); }, stop);
    }};
  }

 private:
  static amqp::ConsumerOptions options_for(MarketId market) {
    amqp::ConsumerOptions options;
    options.queue = amqp::market_queue(market.text());
    return options;
  }

  std::vector<amqp::Decision> handle(std::span<const amqp::Delivered> batch) {
    for (const auto& message : batch) {
      try {
        on_message_(message.body);
      } catch (const std::exception& fault) {
        log::error("market_queue_fault", {{"message", message.message_id}, {"why", fault.what()}});
      }
    }
    return std::vector(batch.size(), amqp::Decision::ack);
  }

  const std::function<void(std::string_view)> on_message_;
  amqp::Consumer consumer_;
  std::jthread thread_;  // last member: joined before the others are destroyed
};

MarketQueueReader::MarketQueueReader(const std::string& amqp_url, MarketId market,
                                     std::function<void(std::string_view)> on_message)
    : loop_(std::make_unique<Loop>(amqp_url, market, std::move(on_message))) {}
MarketQueueReader::~MarketQueueReader() = default;

}  // namespace remotist::market
