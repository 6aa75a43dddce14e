// The outbox: messages that committed transactions want sent. Market and worker write it, and each may
// publish.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/pg/session.h"

namespace remotist::store {

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

// Writes messages in the caller's transaction, mandatory ones all. Whoever commits wakes a publisher.
struct OutboxNote {
  std::string routing_key;
  std::string body;  // JSON
};
void put_outbox(pg::Session& db, const std::vector<OutboxNote>& notes);
// The same, claimed at once: the caller publishes them itself after the commit, and if it dies somebody else
// does when `hold` has passed.
OutboxClaim put_outbox_claimed(pg::Session& db, const std::vector<OutboxNote>& notes,
                               std::chrono::milliseconds hold);

struct OutboxDepth {
  std::int64_t waiting;
  double oldest_seconds;
};
OutboxDepth outbox_depth(pg::Session& db);

}  // namespace remotist::store
