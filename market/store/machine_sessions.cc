#include "market/store/machine_sessions.h"

#include <algorithm>
#include <format>
#include <map>

#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/store/attempts.h"
#include "core/token.h"
#include "market/store/assignment_row.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

using protocol::AttemptName;

// Empty: another transaction has begun a session of this machine between the two statements.
std::optional<MachineSessionId> resume_or_begin_session(pg::Connection& db, const MachineHello& hello) {
  pqxx::params params{hello.machine.text(), hello.market.text(), hello.connection.text(),
                      hello.message.taking_jobs, hello.lease.count()};
  auto rows = pg::write(db, sql::machine_session_resume, params);
  if (rows.empty()) {
    params.append(MachineSessionId::make().text());
    rows = pg::write(db, sql::machine_session_begin, params);
  }
  if (rows.empty()) return std::nullopt;
  return MachineSessionId::parse(rows[0]["id"].view());
}

// Compares the attempts that the machine holds with those of its session.
void reconcile(pg::Connection& db, const MachineHello& hello, OpenedMachineSession& opened) {
  std::map<AttemptName, std::string> held;
  for (const auto& attempt : hello.message.attempts) held[attempt.name] = token_hash(attempt.token);
  const auto attempts = pg::read(
      db, sql::machine_session_attempts,
      pqxx::params{opened.machine_session.text(), limits::kAssignedFilesMax, limits::kAssignedFilesBytesMax});
  for (const auto& row : attempts) {
    const auto mine = held.find(attempt_name_of(row));
    const auto& token_hash = row["token_hash"];
    if (mine != held.end() && !token_hash.is_null() && mine->second == pg::text_of(token_hash)) {
      opened.keep.push_back(mine->first);
      held.erase(mine);
    } else {
      opened.assign.push_back(assignment_of(row, fresh_token("attempt")));
    }
  }
  for (const auto& [name, hash] : held) opened.stop.push_back(name);
  const auto& again = opened.assign;
  if (again.empty()) return;
  const auto key_of = [](const protocol::Assignment& each) { return each.attempt; };
  pg::write(db, sql::machine_session_attempt_token,
            pqxx::params{pg::uuid_array(again, [&](const auto& each) { return key_of(each).name.job; }),
                         pg::array_of(again, [&](const auto& each) { return key_of(each).name.number; }),
                         pg::array_of(again, [&](const auto& each) {
                           return pg::bytea_text(token_hash(key_of(each).token));
                         })});
}

}  // namespace

std::optional<MachineId> machine_of_token(pg::Connection& db, std::string_view token) {
  const auto rows = pg::read(db, sql::machine_session_machine, pqxx::params{pg::bytes_of(token)});
  if (rows.empty()) return std::nullopt;
  return MachineId::parse(rows[0]["id"].view());
}

std::optional<OpenedMachineSession> open_machine_session(pg::Connection& db, const MachineHello& hello) {
  return db.transact([&]() -> std::optional<OpenedMachineSession> {
    if (machine_of_token(db, hello.token_hash) != hello.machine) return std::nullopt;
    const auto session = resume_or_begin_session(db, hello);
    if (!session) throw pg::Conflict{"two sessions of one machine began at once"};
    OpenedMachineSession opened{.machine_session = *session, .keep = {}, .stop = {}, .assign = {}};
    pg::write(db, sql::machine_session_older_tokens_end,
              pqxx::params{hello.machine.text(), pg::bytes_of(hello.token_hash)});
    // After the session's row is locked, so that no worker is making an assignment to it.
    reconcile(db, hello, opened);
    if (hello.message.taking_jobs) store::offer_sessions(db, {*session});
    return opened;
  });
}

std::vector<MachineSessionId> record_seen_sessions(pg::Connection& db,
                                                   const std::vector<SeenMachineSession>& seen) {
  return db.transact([&] {
    std::vector<MachineSessionId> still;
    std::vector<MachineSessionId> offers;
    const auto rows = pg::write(db, sql::machine_session_seen,
                                pqxx::params{pg::uuid_array(seen, &SeenMachineSession::machine_session),
                                             pg::uuid_array(seen, &SeenMachineSession::connection),
                                             pg::array_of(seen, &SeenMachineSession::taking_jobs)});
    for (const auto& row : rows) {
      still.push_back(MachineSessionId::parse(row["id"].view()).value());
      if (row["offers"].as<bool>()) offers.push_back(still.back());
    }
    store::offer_sessions(db, offers);
    return still;
  });
}

std::vector<RunningAttempt> record_running(pg::Connection& db, const std::vector<RunningAttempt>& running) {
  std::vector<RunningAttempt> stale;
  if (running.empty()) return stale;
  const auto rows =
      pg::write(db, sql::machine_session_beats,
                pqxx::params{pg::uuid_array(running, &RunningAttempt::machine_session),
                             pg::uuid_array(running, [](const auto& each) { return each.attempt.job; }),
                             pg::array_of(running, [](const auto& each) { return each.attempt.number; }),
                             pg::array_of(running, &RunningAttempt::cpu_ms)});
  for (const auto& row : rows) {
    stale.push_back(
        {MachineSessionId::parse(row["machine_session_id"].view()).value(), attempt_name_of(row), 0});
  }
  return stale;
}

void record_progress(pg::Connection& db, const std::vector<AttemptProgress>& notes) {
  if (notes.empty()) return;
  pg::write(
      db, sql::machine_session_progress,
      pqxx::params{pg::uuid_array(notes, [](const auto& each) { return each.attempt.job; }),
                   pg::array_of(notes, [](const auto& each) { return each.attempt.number; }),
                   pg::array_of(notes, [](const auto& each) { return pg::bytea_text(each.token_hash); }),
                   pg::array_of(notes, &AttemptProgress::fraction),
                   pg::array_of(notes, &AttemptProgress::message)});
}

void stop_offering(pg::Connection& db, MachineSessionId session, ConnectionId connection) {
  pg::write(db, sql::machine_session_close, pqxx::params{session.text(), connection.text()});
}

void end_idle_machine_session(pg::Connection& db, MachineSessionId session) {
  pg::write(db, sql::machine_session_end_idle, pqxx::params{std::vector{session.text()}, false});
}

Result<protocol::Token> renew_token(pg::Connection& db, MachineId machine, std::string_view token_hash_used,
                                    std::chrono::seconds lifetime) {
  protocol::Token fresh{.token = fresh_token("machine"), .expires_at = {}};
  const std::string hash = token_hash(fresh.token);
  const auto pause = std::min<std::int64_t>(limits::kTokenRenewSecondsMin, lifetime.count() / 4);
  const auto rows = pg::write(db, sql::machine_session_renew_token,
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
