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

struct OutboxClaim {
  std::string id;
  std::vector<OutboxMessage> messages;  // oldest first
};
// Nobody else claims them until `hold` has passed.
OutboxClaim claim_outbox(pg::Session& db, std::size_t at_most, std::chrono::milliseconds hold);
// Both leave alone what another has claimed since.
void delete_outbox(pg::Session& db, const OutboxClaim& claim, const std::vector<std::int64_t>& ids);
// To be claimed again after a while that doubles with every try.
void postpone_outbox(pg::Session& db, const OutboxClaim& claim, const std::vector<std::int64_t>& ids);

struct OutboxDepth {
  std::int64_t waiting;
  double oldest_seconds;
};
OutboxDepth outbox_depth(pg::Session& db);

}  // namespace remotist::market
