// A look into a queue, for people.
#pragma once

#include <string>
#include <vector>

namespace remotist::market {

// Bodies of up to ten ready messages, which stay in the queue. Throws when the broker is away or has no such
// queue.
std::vector<std::string> peek_queue(const std::string& amqp_url, const std::string& queue);

}  // namespace remotist::market
