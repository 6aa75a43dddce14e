// Shows the messages of a queue, for operators.
#pragma once

#include <string>
#include <vector>

namespace remotist::market {

// The bodies of up to ten ready messages, which stay in the queue. Throws amqp::Fault when the broker cannot
// be reached or has no such queue.
std::vector<std::string> peek_queue(const std::string& amqp_url, const std::string& queue);

}  // namespace remotist::market
