// The outbox: messages to publish, written by the transactions that they belong to. Markets and workers write
// it and publish from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/pg/connection.h"

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
// Claims up to `at_most` messages. No other publisher can claim them until `hold` has passed.
OutboxClaim claim_outbox(pg::Connection& db, std::size_t at_most, std::chrono::milliseconds hold);
// Both ignore messages that another publisher has claimed since.
void delete_outbox(pg::Connection& db, const OutboxClaim& claim, const std::vector<std::int64_t>& ids);
// Makes them claimable again after a delay that doubles with every try.
void postpone_outbox(pg::Connection& db, const OutboxClaim& claim, const std::vector<std::int64_t>& ids);

// Writes mandatory messages in the caller's transaction. The caller wakes a publisher after the commit.
struct OutboxDraft {
  std::string routing_key;
  std::string body;  // JSON
};
void put_outbox(pg::Connection& db, const std::vector<OutboxDraft>& drafts);
// The same, already claimed by the caller, who publishes them after the commit. If it dies, another publisher
// can claim them when `hold` has passed.
OutboxClaim put_outbox_claimed(pg::Connection& db, const std::vector<OutboxDraft>& drafts,
                               std::chrono::milliseconds hold);

struct OutboxDepth {
  std::int64_t waiting;
  double oldest_seconds;
};
OutboxDepth outbox_depth(pg::Connection& db);

}  // namespace remotist::store
