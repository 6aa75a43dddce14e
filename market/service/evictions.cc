#include "market/service/evictions.h"

#include <map>
#include <string>
#include <vector>

#include "core/queue_messages.h"
#include "core/queue_names.h"
#include "core/store/outbox.h"
#include "market/store/machine_sessions.h"

namespace remotist::market {
namespace {

// Makes their markets close the sockets.
void close_sockets(pg::Connection& db, const std::vector<EvictedMachineSession>& evicted,
                   std::string_view reason) {
  std::map<MarketId, std::vector<MachineSessionId>> of_market;
  for (const auto& each : evicted) of_market[each.market].push_back(each.machine_session);
  std::vector<store::OutboxDraft> drafts;
  for (auto& [market, sessions] : of_market) {
    drafts.push_back({amqp::market_queue(market.text()),
                      queue::text_of(queue::Close{std::move(sessions), std::string{reason}})});
  }
  store::put_outbox(db, drafts);
}

}  // namespace

void evict_machine(pg::Connection& db, MachineId machine, std::string_view reason) {
  close_sockets(db, mark_evicted(db, machine), reason);
}

void evict_machines_of(pg::Connection& db, AccountId account, std::string_view reason) {
  close_sockets(db, mark_evicted(db, account), reason);
}

}  // namespace remotist::market
