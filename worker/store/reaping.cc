#include "worker/store/reaping.h"

#include <vector>

#include "core/limits.h"
#include "core/log.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/store/attempts.h"
#include "sql_queries.h"

namespace remotist::worker {
namespace {

constexpr int kBatchMax = 500;
constexpr int kPresencesMax = 5000;
constexpr int kAbandonedMax = 1;  // it may have ten thousand files
constexpr int kFilesMax = 2000;
constexpr int kCheckpointsMax = 1;  // it may have fifteen thousand chunks
constexpr int kStoragesMax = 200;

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

void offer_what_is_free(pg::Connection& db, const std::vector<store::EndedAttempt>& ended) {
  std::vector<MachineSessionId> sessions;
  for (const auto& attempt : ended) {
    if (attempt.open) sessions.push_back(attempt.machine_session);
  }
  store::offer_sessions(db, sessions);
}

// Requires that the jobs' rows are locked.
std::vector<store::EndedAttempt> end_held(pg::Connection& db, const std::vector<store::AttemptEnd>& ends) {
  store::lock_machine_sessions(db, ends);
  return store::end_attempts(db, ends);
}

// Ends jobs with their attempts, by an outcome that ends a job. Requires that the jobs' rows are locked.
void end_all(pg::Connection& db, const pqxx::result& rows, AttemptOutcome outcome) {
  const JobState state = row_of(outcome).job_becomes;
  const auto ended = end_held(db, ends_of(rows, outcome, "attempt_number"));
  std::vector<store::JobEnd> ends;
  std::vector<JobId> uploading;
  for (const auto& row : rows) {
    ends.push_back({JobId::parse(row["id"].view()).value(), state});
    if (row["state"].view() == name_of(JobState::uploading)) uploading.push_back(ends.back().job);
  }
  if (!uploading.empty()) store::lock_tallies(db, uploading);
  store::end_jobs(db, ends);
  store::tell_markets_to_stop(db, ended, name_of(state));
  offer_what_is_free(db, ended);
}

}  // namespace

std::chrono::milliseconds longest_lease(pg::Connection& db) {
  return std::chrono::milliseconds{
      pg::read(db, sql::machine_session_longest_lease).one_row()["lease_ms"].as<std::int64_t>()};
}

std::size_t reap_sessions(pg::Connection& db) {
  return db.transact([&]() -> std::size_t {
    const auto lost = pg::write(db, sql::machine_session_lost, pqxx::params{kBatchMax});
    if (lost.empty()) return 0;
    std::vector<std::string> sessions;
    for (const auto& row : lost) sessions.push_back(row["id"].as<std::string>());
    const auto rows = pg::write(db, sql::machine_session_lost_jobs, pqxx::params{sessions});
    const auto ended = end_held(db, ends_of(rows, AttemptOutcome::lost, "number"));
    store::end_jobs(db, store::requeue_jobs(db, jobs_of(ended), AttemptOutcome::lost));
    pg::write(db, sql::machine_session_end_idle, pqxx::params{sessions, true});
    log::info("machines_lost", {{"machines", lost.size()}, {"attempts", ended.size()}});
    return sessions.size();
  });
}

std::size_t reap_unaccepted(pg::Connection& db, std::chrono::milliseconds accept_time) {
  return db.transact([&]() -> std::size_t {
    const auto seconds = static_cast<double>(accept_time.count()) / 1000;
    const auto rows = pg::write(db, sql::machine_session_unaccepted_jobs, pqxx::params{seconds, kBatchMax});
    if (rows.empty()) return 0;
    const auto ended = end_held(db, ends_of(rows, AttemptOutcome::refused, "number"));
    store::end_jobs(db, store::requeue_jobs(db, jobs_of(ended), AttemptOutcome::refused));
    store::tell_markets_to_stop(db, ended, "stale_attempt");
    offer_what_is_free(db, ended);
    log::info("assignments_unaccepted", {{"attempts", ended.size()}});
    return ended.size();
  });
}

std::size_t reap_leaving(pg::Connection& db) {
  return db.transact([&]() -> std::size_t {
    const auto rows = pg::write(db, sql::attempt_overdue_jobs, pqxx::params{kBatchMax});
    if (rows.empty()) return 0;
    const auto ended = end_held(db, ends_of(rows, AttemptOutcome::handed_back, "number"));
    const bool counts = false;  // the job did not cause it
    store::end_jobs(db, store::requeue_jobs(db, jobs_of(ended), AttemptOutcome::handed_back, counts));
    store::tell_markets_to_stop(db, ended, "stale_attempt");
    offer_what_is_free(db, ended);
    log::info("hand_overs_overdue", {{"attempts", ended.size()}});
    return ended.size();
  });
}

std::size_t end_evicted_sessions(pg::Connection& db) {
  return db.transact([&]() -> std::size_t {
    const auto evicted = pg::write(db, sql::machine_sessions_evicted, pqxx::params{kBatchMax});
    if (evicted.empty()) return 0;
    std::vector<std::string> sessions;
    for (const auto& row : evicted) sessions.push_back(row["id"].as<std::string>());
    const auto rows = pg::write(db, sql::machine_session_lost_jobs, pqxx::params{sessions});
    const auto ended = end_held(db, ends_of(rows, AttemptOutcome::handed_back, "number"));
    const bool counts = false;  // the job did not cause it
    store::end_jobs(db, store::requeue_jobs(db, jobs_of(ended), AttemptOutcome::handed_back, counts));
    pg::write(db, sql::machine_session_end_idle, pqxx::params{sessions, true});
    log::info("machines_evicted", {{"machines", evicted.size()}, {"attempts", ended.size()}});
    return sessions.size();
  });
}

std::size_t cancel_jobs_of_disabled(pg::Connection& db) {
  return db.transact([&]() -> std::size_t {
    const auto rows = pg::write(db, sql::job_of_disabled, pqxx::params{kBatchMax});
    if (rows.empty()) {
      pg::write(db, sql::account_ended);
      return 0;
    }
    end_all(db, rows, AttemptOutcome::cancelled);
    log::info("jobs_of_disabled_cancelled", {{"jobs", rows.size()}});
    return static_cast<std::size_t>(rows.size());
  });
}

std::size_t expire_jobs(pg::Connection& db) {
  return db.transact([&]() -> std::size_t {
    const auto rows = pg::write(db, sql::job_expired, pqxx::params{kBatchMax});
    if (rows.empty()) return 0;
    end_all(db, rows, AttemptOutcome::expired);
    log::info("jobs_expired", {{"jobs", rows.size()}});
    return static_cast<std::size_t>(rows.size());
  });
}

std::size_t settle_unanswered(pg::Connection& db) {
  return db.transact([&]() -> std::size_t {
    std::vector<store::Measured> due;
    for (const auto& row : pg::write(db, sql::settlement_due, pqxx::params{kBatchMax})) {
      due.push_back({.job = JobId::parse(row["job_id"].view()).value(),
                     .number = row["attempt_number"].as<int>(),
                     .machine = MachineId::parse(row["machine_id"].view()).value()});
    }
    if (due.empty()) return 0;
    const auto closed = store::close_settlements(db, due).size();
    if (closed > 0) log::info("settled_unanswered", {{"jobs", closed}});
    return closed;
  });
}

std::size_t remove_abandoned(pg::Connection& db) {
  return db.transact([&]() -> std::size_t {
    std::vector<JobId> jobs;
    for (const auto& row :
         pg::write(db, sql::job_abandoned, pqxx::params{limits::kUploadingSecondsMax, kAbandonedMax})) {
      jobs.push_back(JobId::parse(row["id"].view()).value());
    }
    if (jobs.empty()) return 0;
    store::delete_jobs(db, jobs);
    log::info("jobs_abandoned", {{"jobs", jobs.size()}});
    return jobs.size();
  });
}

std::size_t empty_released_storages(pg::Connection& db) {
  return db.transact([&]() -> std::size_t {
    std::vector<std::string> storages;
    for (const auto& row : pg::read(db, sql::storage_released_some, pqxx::params{kStoragesMax}))
      storages.push_back(row["storage_id"].as<std::string>());
    if (storages.empty()) return 0;
    pg::write(db, sql::storages_lock, pqxx::params{storages});
    const auto ended =
        pg::write(db, sql::blob_presence_release, pqxx::params{storages, kPresencesMax}).one_field();
    const auto files = pg::write(db, sql::attempt_files_release, pqxx::params{storages, kFilesMax});
    const auto checkpoints = pg::write(db, sql::checkpoints_release, pqxx::params{storages, kCheckpointsMax});
    pg::write(db, sql::storage_released_delete_empty, pqxx::params{storages});
    return ended.as<std::size_t>() + static_cast<std::size_t>(files.size() + checkpoints.size());
  });
}

}  // namespace remotist::worker
