#include "market/store/outbox.h"

#include <algorithm>

#include "core/id.h"
#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::market {

OutboxClaim claim_outbox(pg::Session& db, std::size_t at_most, std::chrono::milliseconds hold) {
  OutboxClaim claim{uuid_text(uuid_v7()), {}};
  for (const auto& row : pg::write(db, sql::outbox_claim, pqxx::params{at_most, hold.count(), claim.id})) {
    claim.messages.push_back({.id = row["id"].as<std::int64_t>(),
                              .message_id = row["message_id"].as<std::string>(),
                              .routing_key = row["routing_key"].as<std::string>(),
                              .body = row["body"].as<std::string>(),
                              .mandatory = row["mandatory"].as<bool>(),
                              .request_id = row["request_id"].as<std::string>()});
  }
  std::ranges::sort(claim.messages, {}, &OutboxMessage::id);
  return claim;
}

void delete_outbox(pg::Session& db, const OutboxClaim& claim, const std::vector<std::int64_t>& ids) {
  if (!ids.empty()) pg::write(db, sql::outbox_delete, pqxx::params{ids, claim.id});
}

void postpone_outbox(pg::Session& db, const OutboxClaim& claim, const std::vector<std::int64_t>& ids) {
  if (!ids.empty()) pg::write(db, sql::outbox_postpone, pqxx::params{ids, claim.id});
}

OutboxDepth outbox_depth(pg::Session& db) {
  const auto row = pg::read(db, sql::outbox_depth).one_row();
  return {row["waiting"].as<std::int64_t>(), row["oldest_seconds"].as<double>()};
}

}  // namespace remotist::market
