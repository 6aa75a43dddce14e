// The audit log: who did what, from where. docs/operations.md lists the actions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.h"
#include "core/json.h"
#include "core/pg/session.h"
#include "core/result.h"

namespace remotist::market {

// Where a request comes from. Nothing of it is known of the command line.
struct Origin {
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

// In the caller's transaction, if there is one. Log-ins of an account from one address, or one /64 of IPv6,
// within an hour of the clock are one row: the first, with their number.
void record_event(pg::Session& db, const Origin& origin, const AuditEvent& event);
// A line in the log at info.
void log_event(const Origin& origin, const AuditEvent& event);

// What failed: with others of the same action, address, subject and minute it is one row that has their
// number.
void record_failure(pg::Session& db, const Origin& origin, const AuditEvent& event);
// What was refused because it came too often: the first of an address and an action within a minute is
// recorded and logged, the others are not.
void record_refusal(pg::Session& db, const Origin& origin, const std::string& action);

// Runs `body` in a transaction, and in the same one records the events that it gives; logs them after the
// commit.
template <class Body>
auto audited(pg::Session& db, const Origin& origin, Body&& body)
    -> std::invoke_result_t<Body&, AuditEvents&> {
  AuditEvents events;
  auto result = db.transact([&] {
    events.clear();
    auto done = body(events);
    if (done.ok()) {
      for (const auto& event : events) record_event(db, origin, event);
    }
    return done;
  });
  if (result.ok()) {
    for (const auto& event : events) log_event(origin, event);
  }
  return result;
}

struct EventFilter {
  std::optional<std::string> account{};  // who did it, or to whom
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
Result<EventPage> list_events(pg::Session& db, std::string_view token_hash, const EventFilter& filter,
                              int page, int rows);

// Deletes what is older.
void forget_old_events(pg::Session& db, std::chrono::days age);

}  // namespace remotist::market
