#include "core/store/attempts.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/json.h"
#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/queue_names.h"
#include "core/store/outbox.h"
#include "sql_queries.h"

namespace remotist::store {

std::string_view name_of(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::completed:
      return "completed";
    case AttemptOutcome::failed:
      return "failed";
    case AttemptOutcome::cancelled:
      return "cancelled";
    case AttemptOutcome::expired:
      return "expired";
    case AttemptOutcome::refused:
      return "refused";
    case AttemptOutcome::handed_back:
      return "handed_back";
    case AttemptOutcome::lost:
      return "lost";
  }
  std::abort();
}

void lock_sessions(pg::Session& db, const std::vector<AttemptEnd>& ends) {
  if (ends.empty()) return;
  pg::write(db, sql::attempt_sessions_lock,
            pqxx::params{pg::uuid_array(ends, &AttemptEnd::job), pg::array_of(ends, &AttemptEnd::number)});
}

std::vector<EndedAttempt> end_attempts(pg::Session& db, const std::vector<AttemptEnd>& ends) {
  std::vector<EndedAttempt> ended;
  if (ends.empty()) return ended;
  const auto rows = pg::write(
      db, sql::attempt_end,
      pqxx::params{
          pg::uuid_array(ends, &AttemptEnd::job), pg::array_of(ends, &AttemptEnd::number),
          pg::array_of(ends, [](const AttemptEnd& end) { return std::string{name_of(end.outcome)}; }),
          pg::array_of(ends, [](const AttemptEnd& end) { return end.cpu_ms.value_or(-1); })});
  for (const auto& row : rows) {
    ended.push_back({.job = JobId::parse(row["job_id"].view()).value(),
                     .number = row["number"].as<int>(),
                     .session = SessionId::parse(row["session_id"].view()).value(),
                     .market = MarketId::parse(row["market_id"].view()).value(),
                     .open = row["open"].as<bool>()});
  }
  return ended;
}

void end_jobs(pg::Session& db, const std::vector<JobEnd>& ends) {
  if (ends.empty()) return;
  pg::write(
      db, sql::job_end,
      pqxx::params{pg::uuid_array(ends, &JobEnd::job),
                   pg::array_of(ends, [](const JobEnd& end) { return std::string{name_of(end.state)}; }),
                   pg::array_of(ends, [](const JobEnd& end) { return end.failure_code.value_or(""); }),
                   pg::array_of(ends, [](const JobEnd& end) { return end.failure_detail.value_or(""); }),
                   pg::array_of(ends, [](const JobEnd&) { return TransferId::make().text(); })});
}

std::vector<JobId> close_settlements(pg::Session& db, const std::vector<Measured>& measured) {
  std::vector<JobId> closed;
  if (measured.empty()) return closed;
  const auto rows = pg::write(
      db, sql::settlement_close,
      pqxx::params{
          pg::uuid_array(measured, &Measured::job), pg::array_of(measured, &Measured::number),
          pg::uuid_array(measured, &Measured::machine),
          pg::array_of(measured, [](const Measured& each) { return pg::bytea_text(each.token_hash); }),
          pg::array_of(measured, [](const Measured& each) { return each.cpu_ms.value_or(-1); }),
          pg::array_of(measured, [](const Measured&) { return TransferId::make().text(); })});
  for (const auto& row : rows) closed.push_back(JobId::parse(row["job_id"].view()).value());
  return closed;
}

std::vector<JobEnd> requeue_jobs(pg::Session& db, const std::vector<JobId>& jobs, Requeue why) {
  std::vector<JobEnd> failed;
  if (jobs.empty()) return failed;
  const bool lost = why == Requeue::lost;
  std::set<JobId> left{jobs.begin(), jobs.end()};
  nlohmann::json waiting = nlohmann::json::array();
  for (const auto& row :
       pg::write(db, sql::job_requeue,
                 pqxx::params{pg::uuid_array(jobs), lost ? 1 : 0, why == Requeue::handed_back ? 1 : 0,
                              limits::kLossesMax, limits::kHandBacksMax})) {
    waiting.push_back(row["id"].as<std::string>());
    left.erase(JobId::parse(row["id"].view()).value());
  }
  if (!waiting.empty()) pg::write(db, sql::partial_results_supersede, pqxx::params{pg::uuid_array(jobs)});
  if (!waiting.empty()) put_outbox(db, {{amqp::kJobsReady, nlohmann::json{{"jobs", waiting}}.dump()}});
  for (const JobId job : left) {
    if (lost) {
      failed.push_back(
          {job, JobState::failed, "lost_too_often",
           "five machines in a row were lost while they ran this job: look whether it needs more "
           "memory than it asks for"});
    } else {
      failed.push_back({job, JobState::failed, "handed_back_too_often",
                        "twenty times a machine could not go on with this job and gave it back"});
    }
  }
  return failed;
}

void delete_jobs(pg::Session& db, const std::vector<JobId>& jobs) {
  lock_tallies(db, jobs);
  lock_storages(db, jobs);
  pg::write(db, sql::jobs_delete, pqxx::params{pg::uuid_array(jobs)});
}

void offer_sessions(pg::Session& db, const std::vector<SessionId>& sessions) {
  const std::set<SessionId> each{sessions.begin(), sessions.end()};
  if (each.empty()) return;
  put_outbox(db, {{amqp::kJobsReady, nlohmann::json{{"sessions", pg::uuid_array(each)}}.dump()}});
}

void tell_markets_to_stop(pg::Session& db, const std::vector<EndedAttempt>& attempts,
                          std::string_view reason) {
  std::map<MarketId, nlohmann::json> of_market;
  for (const auto& attempt : attempts) {
    of_market[attempt.market].push_back(
        {{"session", attempt.session.text()}, {"job", attempt.job.text()}, {"attempt", attempt.number}});
  }
  std::vector<OutboxNote> notes;
  for (auto& [market, stops] : of_market) {
    notes.push_back({amqp::market_queue(market.text()),
                     nlohmann::json{{"stop", std::move(stops)}, {"reason", reason}}.dump()});
  }
  put_outbox(db, notes);
}

}  // namespace remotist::store
