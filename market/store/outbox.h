// The outbox: messages that committed transactions want sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/pg/session.h"

namespace remotist::market {

struct OutboxMessage {
  std::int64_t id;
  std::string message_id;
  std::string routing_key;
  std::string body;
  bool mandatory;
  std::string request_id;
};

// Oldest first. Nobody else claims them until `hold` has passed.
std::vector<OutboxMessage> claim_outbox(pg::Session& db, std::size_t at_most, std::chrono::milliseconds hold);
void delete_outbox(pg::Session& db, const std::vector<std::int64_t>& ids);
void release_outbox(pg::Session& db, const std::vector<std::int64_t>& ids);

struct OutboxDepth {
  std::int64_t waiting;
  double oldest_seconds;
};
OutboxDepth outbox_depth(pg::Session& db);

}  // namespace remotist::market
