#include "market/store/sessions.h"

#include <algorithm>
#include <format>
#include <map>

#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/store/assignment_row.h"
#include "core/store/attempts.h"
#include "core/token.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

using protocol::AttemptName;

// None: somebody else has begun a session for this machine between the two statements.
std::optional<SessionId> session_for(pg::Session& db, const Greeting& greeting) {
  pqxx::params params{greeting.machine.text(), greeting.market.text(), greeting.connection.text(),
                      greeting.hello.taking_jobs, greeting.lease.count()};
  auto rows = pg::write(db, sql::session_resume, params);
  if (rows.empty()) {
    params.append(SessionId::make().text());
    rows = pg::write(db, sql::session_begin, params);
  }
  if (rows.empty()) return std::nullopt;
  return SessionId::parse(rows[0]["id"].view());
}

// Compares what the machine holds with what it should.
void reconcile(pg::Session& db, const Greeting& greeting, OpenedMachine& opened) {
  std::map<AttemptName, std::string> held;
  for (const auto& attempt : greeting.hello.attempts) held[attempt.name] = token_hash(attempt.token);
  const auto attempts = pg::read(
      db, sql::session_attempts,
      pqxx::params{opened.session.text(), limits::kAssignedFilesMax, limits::kAssignedFilesBytesMax});
  for (const auto& row : attempts) {
    const auto mine = held.find(store::attempt_name_of(row));
    if (mine != held.end() && mine->second == pg::text_of(row["token_hash"])) {
      opened.keep.push_back(mine->first);
      held.erase(mine);
    } else {
      opened.assign.push_back(store::assignment_of(row, fresh_token("attempt")));
    }
  }
  for (const auto& [name, hash] : held) opened.stop.push_back(name);
  const auto& again = opened.assign;
  if (again.empty()) return;
  const auto key_of = [](const protocol::Assignment& each) { return each.attempt; };
  pg::write(db, sql::session_attempt_token,
            pqxx::params{pg::uuid_array(again, [&](const auto& each) { return key_of(each).name.job; }),
                         pg::array_of(again, [&](const auto& each) { return key_of(each).name.number; }),
                         pg::array_of(again, [&](const auto& each) {
                           return pg::bytea_text(token_hash(key_of(each).token));
                         })});
}

}  // namespace

std::optional<MachineId> machine_of_token(pg::Session& db, std::string_view token) {
  const auto rows = pg::read(db, sql::session_machine, pqxx::params{pg::bytes_of(token)});
  if (rows.empty()) return std::nullopt;
  return MachineId::parse(rows[0]["id"].view());
}

std::optional<OpenedMachine> open_machine(pg::Session& db, const Greeting& greeting) {
  return db.transact([&]() -> std::optional<OpenedMachine> {
    if (machine_of_token(db, greeting.token_hash) != greeting.machine) return std::nullopt;
    const auto session = session_for(db, greeting);
    if (!session) throw pg::Conflict{"two sessions of one machine began at once"};
    OpenedMachine opened{.session = *session, .keep = {}, .stop = {}, .assign = {}};
    pg::write(db, sql::session_older_tokens_end,
              pqxx::params{greeting.machine.text(), pg::bytes_of(greeting.token_hash)});
    // Only now: an assignment that a worker was making has waited for the session's row, or we for it.
    reconcile(db, greeting, opened);
    if (greeting.hello.taking_jobs) store::offer_sessions(db, {*session});
    return opened;
  });
}

std::vector<SessionId> note_seen(pg::Session& db, const std::vector<SeenSession>& seen) {
  return db.transact([&] {
    std::vector<SessionId> still;
    std::vector<SessionId> offers;
    const auto rows = pg::write(db, sql::session_seen,
                                pqxx::params{pg::uuid_array(seen, &SeenSession::session),
                                             pg::uuid_array(seen, &SeenSession::connection),
                                             pg::array_of(seen, &SeenSession::taking_jobs)});
    for (const auto& row : rows) {
      still.push_back(SessionId::parse(row["id"].view()).value());
      if (row["offers"].as<bool>()) offers.push_back(still.back());
    }
    store::offer_sessions(db, offers);
    return still;
  });
}

std::vector<RunningAttempt> note_running(pg::Session& db, const std::vector<RunningAttempt>& running) {
  std::vector<RunningAttempt> stale;
  if (running.empty()) return stale;
  const auto rows =
      pg::write(db, sql::session_beats,
                pqxx::params{pg::uuid_array(running, &RunningAttempt::session),
                             pg::uuid_array(running, [](const auto& each) { return each.attempt.job; }),
                             pg::array_of(running, [](const auto& each) { return each.attempt.number; }),
                             pg::array_of(running, &RunningAttempt::cpu_ms)});
  for (const auto& row : rows) {
    stale.push_back({SessionId::parse(row["session_id"].view()).value(), store::attempt_name_of(row), 0});
  }
  return stale;
}

void note_progress(pg::Session& db, const std::vector<ProgressNote>& notes) {
  if (notes.empty()) return;
  pg::write(db, sql::session_progress,
            pqxx::params{
                pg::uuid_array(notes, [](const auto& each) { return each.attempt.job; }),
                pg::array_of(notes, [](const auto& each) { return each.attempt.number; }),
                pg::array_of(notes, [](const auto& each) { return pg::bytea_text(each.token_hash); }),
                pg::array_of(notes, &ProgressNote::fraction), pg::array_of(notes, &ProgressNote::message)});
}

void close_machine(pg::Session& db, SessionId session, ConnectionId connection) {
  pg::write(db, sql::session_close, pqxx::params{session.text(), connection.text()});
}

void end_idle_machine(pg::Session& db, SessionId session) {
  pg::write(db, sql::session_end_idle, pqxx::params{std::vector{session.text()}, false});
}

Result<protocol::Token> renew_token(pg::Session& db, MachineId machine, std::string_view token_hash_used,
                                    std::chrono::seconds lifetime) {
  protocol::Token fresh{.token = fresh_token("machine"), .expires_at = {}};
  const std::string hash = token_hash(fresh.token);
  const auto pause = std::min<std::int64_t>(limits::kTokenRenewSecondsMin, lifetime.count() / 4);
  const auto rows = pg::write(db, sql::session_renew_token,
                              pqxx::params{machine.text(), pg::bytes_of(hash), lifetime.count(), pause,
                                           pg::bytes_of(token_hash_used)});
  if (rows.empty()) return refuse(Code::unauthenticated, "the machine was removed");
  if (rows[0]["expires_at"].is_null()) {
    return refuse(Code::rate_limited,
                  std::format("a token is renewed at most once in {} seconds: ask again later", pause));
  }
  fresh.expires_at = rows[0]["expires_at"].as<std::string>();
  return fresh;
}

}  // namespace remotist::market
