// The audit log. docs/operations.md lists the actions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.h"
#include "core/json.h"
#include "core/pg/connection.h"
#include "core/result.h"

namespace remotist::market {

// The client address and id of a request. Empty for the command line.
struct RequestOrigin {
  std::optional<std::string> address{};
  std::optional<RequestId> request{};
};

struct AuditEvent {
  std::string action;
  std::optional<AccountId> account{};    // who did it
  std::optional<std::string> subject{};  // of what: an id, or an e-mail
  nlohmann::json detail = nlohmann::json::object();
};
using AuditEvents = std::vector<AuditEvent>;

// Runs in the caller's transaction, if there is one. Logins of an account from one address, or one /64 of
// IPv6, within one clock hour share one row, which counts them.
void record_event(pg::Connection& db, const RequestOrigin& origin, const AuditEvent& event);
// Logs the event at level info.
void log_event(const RequestOrigin& origin, const AuditEvent& event);

// Records a failed action; failures of the same action, address, subject and minute share one row, which
// counts them.
void record_failure(pg::Connection& db, const RequestOrigin& origin, const AuditEvent& event);
// Records an action that was refused by a rate limit; only the first of an address and action within a minute
// is recorded and logged.
void record_refusal(pg::Connection& db, const RequestOrigin& origin, const std::string& action);

struct EventFilter {
  std::optional<std::string> account{};  // the actor or the subject
  std::optional<std::string> action{};
  std::optional<std::string> address{};  // or a network
  std::optional<std::string> subject{};
  std::optional<std::string> since{};
  std::optional<std::string> until{};
};
struct ListedEvent {
  std::int64_t id;
  std::string at;
  std::string action;
  std::optional<std::string> account;
  std::optional<std::string> address;
  std::optional<std::string> subject;
  nlohmann::json detail;
  std::optional<std::string> request;
  std::int64_t count;
};
struct EventPage {
  std::vector<ListedEvent> events;  // newest first
  bool more;
};
// For admins; refuses everybody else.
Result<EventPage> list_events(pg::Connection& db, std::string_view token_hash, const EventFilter& filter,
                              int page, int rows);

// Deletes older events.
void delete_old_events(pg::Connection& db, std::chrono::days age);

}  // namespace remotist::market
