#include "market/store/bars.h"

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

void bar(pg::Session& db, const std::optional<std::string>& account,
         const std::optional<std::string>& machine, std::string_view reason) {
  std::map<std::string, nlohmann::json> of_market;
  for (const auto& row : pg::write(db, sql::sessions_bar, pqxx::params{account, machine})) {
    of_market[row["market_id"].as<std::string>()].push_back(row["id"].as<std::string>());
  }
  std::vector<store::OutboxNote> notes;
  for (auto& [market, sessions] : of_market) {
    notes.push_back({amqp::market_queue(market),
                     nlohmann::json{{"close", std::move(sessions)}, {"reason", reason}}.dump()});
  }
  store::put_outbox(db, notes);
}

}  // namespace

void bar_machine(pg::Session& db, MachineId machine, std::string_view reason) {
  bar(db, std::nullopt, machine.text(), reason);
}

void bar_machines_of(pg::Session& db, AccountId account, std::string_view reason) {
  bar(db, account.text(), std::nullopt, reason);
}

}  // namespace remotist::market
