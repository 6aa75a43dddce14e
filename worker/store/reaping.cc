#include "worker/store/reaping.h"

#include <vector>

#include "core/log.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/store/attempts.h"
#include "sql_queries.h"

namespace remotist::worker {
namespace {

using store::AttemptOutcome;

constexpr int kBatchMax = 500;

std::vector<store::AttemptEnd> ends_of(const pqxx::result& rows, AttemptOutcome outcome,
                                       const char* number_column) {
  std::vector<store::AttemptEnd> ends;
  for (const auto& row : rows) {
    ends.push_back({JobId::parse(row["id"].view()).value(), row[number_column].as<int>(), outcome});
  }
  return ends;
}

std::vector<JobId> jobs_of(const std::vector<store::EndedAttempt>& ended) {
  return pg::array_of(ended, &store::EndedAttempt::job);
}

void offer_what_is_free(pg::Session& db, const std::vector<store::EndedAttempt>& ended) {
  std::vector<SessionId> sessions;
  for (const auto& attempt : ended) {
    if (attempt.open) sessions.push_back(attempt.session);
  }
  store::offer_sessions(db, sessions);
}

}  // namespace

std::chrono::milliseconds longest_lease(pg::Session& db) {
  return std::chrono::milliseconds{
      pg::read(db, sql::session_longest_lease).one_row()["lease_ms"].as<std::int64_t>()};
}

std::size_t reap_sessions(pg::Session& db) {
  return db.transact([&]() -> std::size_t {
    const auto lost = pg::write(db, sql::session_lost, pqxx::params{kBatchMax});
    if (lost.empty()) return 0;
    std::vector<std::string> sessions;
    for (const auto& row : lost) sessions.push_back(row["id"].as<std::string>());
    const auto rows = pg::write(db, sql::session_lost_jobs, pqxx::params{sessions});
    const auto ended = store::end_attempts(db, ends_of(rows, AttemptOutcome::lost, "number"));
    store::requeue_jobs(db, jobs_of(ended), true);
    pg::write(db, sql::session_end_idle, pqxx::params{sessions, true});
    log::info("machines_lost", {{"machines", lost.size()}, {"attempts", ended.size()}});
    return sessions.size();
  });
}

std::size_t reap_unaccepted(pg::Session& db, std::chrono::milliseconds accept_time) {
  return db.transact([&]() -> std::size_t {
    const auto seconds = static_cast<double>(accept_time.count()) / 1000;
    const auto rows = pg::write(db, sql::session_unaccepted_jobs, pqxx::params{seconds, kBatchMax});
    if (rows.empty()) return 0;
    const auto ended = store::end_attempts(db, ends_of(rows, AttemptOutcome::refused, "number"));
    store::requeue_jobs(db, jobs_of(ended), false);
    store::tell_markets_to_stop(db, ended, "stale_attempt");
    offer_what_is_free(db, ended);
    log::info("assignments_unaccepted", {{"attempts", ended.size()}});
    return ended.size();
  });
}

std::size_t expire_jobs(pg::Session& db) {
  return db.transact([&]() -> std::size_t {
    const auto rows = pg::write(db, sql::job_expired, pqxx::params{kBatchMax});
    if (rows.empty()) return 0;
    const auto ended = store::end_attempts(db, ends_of(rows, AttemptOutcome::expired, "attempt_number"));
    std::vector<store::JobEnd> ends;
    for (const auto& row : rows) ends.push_back({JobId::parse(row["id"].view()).value(), JobState::expired});
    store::end_jobs(db, ends);
    store::tell_markets_to_stop(db, ended, "expired");
    offer_what_is_free(db, ended);
    log::info("jobs_expired", {{"jobs", ends.size()}});
    return ends.size();
  });
}

}  // namespace remotist::worker
