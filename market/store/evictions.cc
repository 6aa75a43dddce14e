#include "market/store/evictions.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/pg/statement.h"
#include "core/queue_names.h"
#include "core/store/outbox.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

void evict(pg::Connection& db, const std::optional<std::string>& account,
           const std::optional<std::string>& machine, std::string_view reason) {
  std::map<std::string, nlohmann::json> of_market;
  for (const auto& row : pg::write(db, sql::machine_sessions_evict, pqxx::params{account, machine})) {
    of_market[row["market_id"].as<std::string>()].push_back(row["id"].as<std::string>());
  }
  std::vector<store::OutboxDraft> drafts;
  for (auto& [market, sessions] : of_market) {
    drafts.push_back({amqp::market_queue(market),
                      nlohmann::json{{"close", std::move(sessions)}, {"reason", reason}}.dump()});
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
