// Changes that are recorded in the audit log.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "core/pg/connection.h"
#include "core/result.h"
#include "market/store/admin.h"
#include "market/store/audit.h"

namespace remotist::market {

// Runs `body` in a transaction, records in it the events that `body` adds, and logs them after the commit.
template <class Body>
auto audited(pg::Connection& db, const RequestOrigin& origin, Body&& body)
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

// Runs `act` of an admin with its event in one transaction; refuses everybody else before. An act that gives
// false had been done before and is not recorded again.
template <class Act>
auto as_admin(pg::Connection& db, std::string_view token_hash, const RequestOrigin& origin, AuditEvent event,
              Act act) -> std::invoke_result_t<Act&> {
  return audited(db, origin, [&](AuditEvents& events) -> std::invoke_result_t<Act&> {
    const auto admin = check_admin(db, token_hash);
    if (!admin) return admin.refusal();
    auto done = act();
    if constexpr (std::is_same_v<decltype(done), Result<bool>>) {
      if (done && !*done) return done;
    }
    event.account = *admin;
    events.push_back(event);
    return done;
  });
}

}  // namespace remotist::market
