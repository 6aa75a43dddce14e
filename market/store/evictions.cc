#include "market/store/evictions.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/pg/statement.h"
#include "core/queue_messages.h"
#include "core/queue_names.h"
#include "core/store/outbox.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

void evict(pg::Connection& db, const std::optional<std::string>& account,
           const std::optional<std::string>& machine, std::string_view reason) {
  std::map<std::string, std::vector<MachineSessionId>> of_market;
  for (const auto& row : pg::write(db, sql::machine_sessions_evict, pqxx::params{account, machine})) {
    of_market[row["market_id"].as<std::string>()].push_back(
        MachineSessionId::parse(row["id"].view()).value());
  }
  std::vector<store::OutboxDraft> drafts;
  for (auto& [market, sessions] : of_market) {
    drafts.push_back(
        {amqp::market_queue(market), queue::text_of(queue::Close{std::move(sessions), std::string{reason}})});
  }
  store::put_outbox(db, drafts);
}

}  // namespace

void evict_machine(pg::Connection& db, MachineId machine, std::string_view reason) {
  evict(db, std::nullopt, machine.text(), reason);
}

void evict_machines_of(pg::Connection& db, AccountId account, std::string_view reason) {
  evict(db, account.text(), std::nullopt, reason);
}

}  // namespace remotist::market
