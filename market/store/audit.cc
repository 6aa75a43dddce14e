#include "market/store/audit.h"

#include <utility>

#include "core/log.h"
#include "core/pg/statement.h"
#include "market/store/admin.h"
#include "market/store/delete_old_rows.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

pqxx::params params_of(const RequestOrigin& origin, const AuditEvent& event) {
  pqxx::params params{event.action};
  params.append(event.account ? std::optional{event.account->text()} : std::nullopt);
  params.append(origin.address);
  params.append(event.subject);
  params.append(event.detail.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  params.append(origin.request ? std::optional{origin.request->text()} : std::nullopt);
  return params;
}

ListedEvent event_of(const pqxx::row& row) {
  return {.id = row["id"].as<std::int64_t>(),
          .at = row["at"].as<std::string>(),
          .action = row["action"].as<std::string>(),
          .account = row["account_id"].as<std::optional<std::string>>(),
          .address = row["address"].as<std::optional<std::string>>(),
          .subject = row["subject"].as<std::optional<std::string>>(),
          .detail = json_in(row["detail"].view()),
          .request = row["request_id"].as<std::optional<std::string>>(),
          .count = row["count"].as<std::int64_t>()};
}

}  // namespace

void record_event(pg::Connection& db, const RequestOrigin& origin, const AuditEvent& event) {
  const auto& query = event.action == "login" ? sql::audit_record_login : sql::audit_record;
  pg::write(db, query, params_of(origin, event));
}

void log_event(const RequestOrigin& origin, const AuditEvent& event) {
  log::info("audit", {{"action", event.action},
                      {"account", event.account ? event.account->text() : ""},
                      {"address", origin.address.value_or("")},
                      {"subject", event.subject.value_or("")},
                      {"request", origin.request ? origin.request->text() : ""}});
}

void record_failure(pg::Connection& db, const RequestOrigin& origin, const AuditEvent& event) {
  pg::write(db, sql::audit_record_failure, params_of(origin, event));
  log_event(origin, event);
}

void record_refusal(pg::Connection& db, const RequestOrigin& origin, const std::string& action) {
  const AuditEvent event{.action = action};
  if (!pg::write(db, sql::audit_record_refusal, params_of(origin, event)).empty()) log_event(origin, event);
}

Result<EventPage> list_events(pg::Connection& db, std::string_view token_hash, const EventFilter& filter,
                              int page, int rows_a_page) {
  if (auto checked = check_admin(db, token_hash); !checked) return checked.refusal();
  const auto rows = pg::read(db, sql::audit_list,
                             pqxx::params{filter.account, filter.action, filter.address, filter.subject,
                                          filter.since, filter.until, page, rows_a_page});
  EventPage listed{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (std::cmp_equal(listed.events.size(), rows_a_page)) break;
    listed.events.push_back(event_of(row));
  }
  return listed;
}

void delete_old_events(pg::Connection& db, std::chrono::days age) {
  delete_old_rows(db, sql::audit_delete_old, pqxx::params{age.count()});
}

}  // namespace remotist::market
