#include "market/service/peek_queue.h"

#include <stdexcept>

#include "core/amqp/connection.h"

namespace remotist::market {

std::vector<std::string> peek_queue(const std::string& amqp_url, const std::string& queue) {
  constexpr int kMessagesMax = 10;
  const auto address = amqp::Address::parse(amqp_url);
  if (!address) throw std::invalid_argument{address.refusal().detail};
  amqp::Connection connection{*address, {}};
  std::vector<std::string> bodies;
  std::uint64_t last_tag = 0;
  while (bodies.size() < kMessagesMax) {
    auto message = connection.get(queue);
    if (!message) break;
    last_tag = message->tag;
    bodies.push_back(std::move(message->body));
  }
  if (last_tag != 0) connection.nack(last_tag, /*multiple=*/true, /*requeue=*/true);
  connection.close();
  return bodies;
}

}  // namespace remotist::market
