#include "market/store/machine_sessions.h"

#include <algorithm>
#include <format>

#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/token.h"
#include "market/store/assignment_row.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

std::optional<MachineSessionId> session_in(const pqxx::result& rows) {
  if (rows.empty()) return std::nullopt;
  return MachineSessionId::parse(rows[0]["id"].view());
}

}  // namespace

std::optional<MachineId> machine_of_token(pg::Connection& db, std::string_view token) {
  const auto rows = pg::read(db, sql::machine_session_machine, pqxx::params{pg::bytes_of(token)});
  if (rows.empty()) return std::nullopt;
  return MachineId::parse(rows[0]["id"].view());
}

std::optional<MachineSessionId> resume_or_begin_session(pg::Connection& db, const MachineHello& hello) {
  pqxx::params params{hello.machine.text(), hello.market.text(), hello.connection.text(),
                      hello.message.taking_jobs, hello.lease.count()};
  if (const auto resumed = session_in(pg::write(db, sql::machine_session_resume, params))) return resumed;
  params.append(MachineSessionId::make().text());
  return session_in(pg::write(db, sql::machine_session_begin, params));
}

void set_software(pg::Connection& db, MachineId machine, const protocol::Hello& hello) {
  pg::write(db, sql::machine_set_software,
            pqxx::params{machine.text(), hello.r_version, hello.architecture, hello.packages});
}

void end_older_tokens(pg::Connection& db, MachineId machine, std::string_view token_hash) {
  pg::write(db, sql::machine_token_end_older, pqxx::params{machine.text(), pg::bytes_of(token_hash)});
}

std::vector<OpenAttempt> open_attempts(pg::Connection& db, MachineSessionId session) {
  std::vector<OpenAttempt> attempts;
  for (const auto& row :
       pg::read(db, sql::machine_session_attempts,
                pqxx::params{session.text(), limits::kAssignedFilesMax, limits::kAssignedFilesBytesMax})) {
    const auto& hash = row["token_hash"];
    attempts.push_back({.assignment = assignment_of(row, {}),
                        .token_hash = hash.is_null() ? std::nullopt : std::optional{pg::text_of(hash)},
                        .accepted = row["accepted"].as<bool>(),
                        .leaving = row["leaving"].as<bool>()});
  }
  return attempts;
}

void set_tokens(pg::Connection& db, const std::vector<protocol::Assignment>& assignments) {
  if (assignments.empty()) return;
  pg::write(db, sql::attempt_set_tokens,
            pqxx::params{pg::uuid_array(assignments, [](const auto& each) { return each.attempt.name.job; }),
                         pg::array_of(assignments, [](const auto& each) { return each.attempt.name.number; }),
                         pg::array_of(assignments, [](const auto& each) {
                           return pg::bytea_text(token_hash(each.attempt.token));
                         })});
}

std::vector<RenewedMachineSession> renew_leases(pg::Connection& db,
                                                const std::vector<SeenMachineSession>& seen) {
  std::vector<RenewedMachineSession> renewed;
  const auto rows = pg::write(db, sql::machine_session_seen,
                              pqxx::params{pg::uuid_array(seen, &SeenMachineSession::machine_session),
                                           pg::uuid_array(seen, &SeenMachineSession::connection),
                                           pg::array_of(seen, &SeenMachineSession::taking_jobs)});
  for (const auto& row : rows)
    renewed.push_back({MachineSessionId::parse(row["id"].view()).value(), row["offers"].as<bool>()});
  return renewed;
}

std::vector<EvictedMachineSession> mark_evicted(pg::Connection& db,
                                                const std::variant<AccountId, MachineId>& whose) {
  const auto* const account = std::get_if<AccountId>(&whose);
  const auto* const machine = std::get_if<MachineId>(&whose);
  pqxx::params params;
  params.append(account != nullptr ? std::optional{account->text()} : std::nullopt);
  params.append(machine != nullptr ? std::optional{machine->text()} : std::nullopt);
  std::vector<EvictedMachineSession> evicted;
  for (const auto& row : pg::write(db, sql::machine_sessions_evict, params)) {
    evicted.push_back({MachineSessionId::parse(row["id"].view()).value(),
                       MarketId::parse(row["market_id"].view()).value()});
  }
  return evicted;
}

std::vector<RunningAttempt> record_running(pg::Connection& db, const std::vector<RunningAttempt>& running) {
  std::vector<RunningAttempt> stale;
  if (running.empty()) return stale;
  const auto rows =
      pg::write(db, sql::attempt_beats,
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
      db, sql::job_progress,
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
  const auto rows = pg::write(db, sql::machine_token_renew,
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
