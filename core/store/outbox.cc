#include "core/store/outbox.h"

#include <algorithm>

#include "core/id.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::store {

OutboxClaim claim_outbox(pg::Connection& db, std::size_t at_most, std::chrono::milliseconds hold) {
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

void delete_outbox(pg::Connection& db, const OutboxClaim& claim, const std::vector<std::int64_t>& ids) {
  if (!ids.empty()) pg::write(db, sql::outbox_delete, pqxx::params{ids, claim.id});
}

void postpone_outbox(pg::Connection& db, const OutboxClaim& claim, const std::vector<std::int64_t>& ids) {
  if (!ids.empty()) pg::write(db, sql::outbox_postpone, pqxx::params{ids, claim.id});
}

namespace {

// Gives the rows' ids, in the order of the drafts.
OutboxClaim put(pg::Connection& db, const std::vector<OutboxDraft>& drafts, std::string claim,
                std::chrono::milliseconds hold) {
  OutboxClaim put{std::move(claim), {}};
  if (drafts.empty()) return put;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < drafts.size(); ++i) ids.push_back(uuid_text(uuid_v7()));
  pqxx::params params{ids, pg::array_of(drafts, &OutboxDraft::routing_key),
                      pg::array_of(drafts, &OutboxDraft::body)};
  params.append(put.id.empty() ? std::nullopt : std::optional{put.id});
  params.append(hold.count());
  const auto rows = pg::write(db, sql::outbox_put, params);
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    put.messages.push_back({.id = rows[static_cast<int>(i)]["id"].as<std::int64_t>(),
                            .message_id = ids[i],
                            .routing_key = drafts[i].routing_key,
                            .body = drafts[i].body,
                            .mandatory = true,
                            .request_id = {}});
  }
  return put;
}

}  // namespace

void put_outbox(pg::Connection& db, const std::vector<OutboxDraft>& drafts) {
  put(db, drafts, {}, {});
}

OutboxClaim put_outbox_claimed(pg::Connection& db, const std::vector<OutboxDraft>& drafts,
                               std::chrono::milliseconds hold) {
  return put(db, drafts, uuid_text(uuid_v7()), hold);
}

OutboxDepth outbox_depth(pg::Connection& db) {
  const auto row = pg::read(db, sql::outbox_depth).one_row();
  return {row["waiting"].as<std::int64_t>(), row["oldest_seconds"].as<double>()};
}

}  // namespace remotist::store
