#include "core/store/attempts.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/queue_messages.h"
#include "core/queue_names.h"
#include "core/store/outbox.h"
#include "sql_queries.h"

namespace remotist::store {

void lock_machine_sessions(pg::Connection& db, const std::vector<AttemptEnd>& ends) {
  if (ends.empty()) return;
  pg::write(db, sql::attempt_sessions_lock,
            pqxx::params{pg::uuid_array(ends, &AttemptEnd::job), pg::array_of(ends, &AttemptEnd::number)});
}

std::vector<EndedAttempt> end_attempts(pg::Connection& db, const std::vector<AttemptEnd>& ends) {
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
                     .machine_session = MachineSessionId::parse(row["machine_session_id"].view()).value(),
                     .market = MarketId::parse(row["market_id"].view()).value(),
                     .open = row["open"].as<bool>(),
                     .leaving = row["leaving"].as<bool>()});
  }
  return ended;
}

void end_jobs(pg::Connection& db, const std::vector<JobEnd>& ends) {
  if (ends.empty()) return;
  pg::write(
      db, sql::job_end,
      pqxx::params{pg::uuid_array(ends, &JobEnd::job),
                   pg::array_of(ends, [](const JobEnd& end) { return std::string{name_of(end.state)}; }),
                   pg::array_of(ends,
                                [](const JobEnd& end) {
                                  return end.failure_code ? std::string{name_of(*end.failure_code)}
                                                          : std::string{};
                                }),
                   pg::array_of(ends, [](const JobEnd& end) { return end.failure_detail.value_or(""); }),
                   pg::array_of(ends, [](const JobEnd&) { return TransferId::make().text(); })});
}

std::vector<JobId> close_settlements(pg::Connection& db, const std::vector<Measured>& measured) {
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

std::vector<JobEnd> requeue_jobs(pg::Connection& db, const std::vector<JobId>& jobs, AttemptOutcome outcome,
                                 bool counts) {
  std::vector<JobEnd> failed;
  if (jobs.empty()) return failed;
  const auto too_often = counts ? row_of(outcome).too_often : std::nullopt;
  std::set<JobId> left{jobs.begin(), jobs.end()};
  const auto counter = too_often ? name_of(too_often->counter) : std::string_view{};
  const int too_many = too_often ? too_often->attempts : 0;
  queue::Ready ready;
  std::vector<ResumePoint> points;
  for (const auto& row :
       pg::write(db, sql::job_requeue,
                 pqxx::params{pg::uuid_array(jobs), counter, too_many, limits::kResumeWaitSeconds})) {
    ready.jobs.push_back(JobId::parse(row["id"].view()).value());
    points.push_back({ready.jobs.back(), row["sequence"].as<int>()});
    left.erase(ready.jobs.back());
  }
  if (!ready.jobs.empty()) {
    supersede_records(db, points);
    put_outbox(db, {{amqp::kJobsReady, queue::text_of(ready)}});
  }
  if (!too_often) return failed;
  for (const JobId job : left)
    failed.push_back({job, JobState::failed, too_often->code, std::string{too_often->detail}});
  return failed;
}

void supersede_records(pg::Connection& db, const std::vector<ResumePoint>& points) {
  const auto jobs = pg::uuid_array(points, &ResumePoint::job);
  const auto changed = pg::write(db, sql::attempt_records_supersede,
                                 pqxx::params{jobs, pg::array_of(points, &ResumePoint::sequence)});
  // None of them has a watched record.
  if (changed.affected_rows() == 0) return;
  pg::write(db, sql::watched_live_records_find, pqxx::params{jobs});
}

void delete_jobs(pg::Connection& db, const std::vector<JobId>& jobs) {
  lock_tallies(db, jobs);
  lock_storages(db, jobs);
  pg::write(db, sql::jobs_delete, pqxx::params{pg::uuid_array(jobs)});
}

void offer_sessions(pg::Connection& db, const std::vector<MachineSessionId>& sessions) {
  const std::set<MachineSessionId> each{sessions.begin(), sessions.end()};
  if (each.empty()) return;
  put_outbox(db, {{amqp::kJobsReady, queue::text_of(queue::Ready{{}, {each.begin(), each.end()}})}});
}

void tell_markets_to_stop(pg::Connection& db, const std::vector<EndedAttempt>& attempts,
                          std::string_view reason) {
  std::map<MarketId, std::vector<queue::SessionAttempt>> of_market;
  for (const auto& attempt : attempts) {
    of_market[attempt.market].push_back({attempt.machine_session, {attempt.job, attempt.number}});
  }
  std::vector<OutboxDraft> drafts;
  for (auto& [market, ended] : of_market) {
    drafts.push_back({amqp::market_queue(market.text()),
                      queue::text_of(queue::Stop{std::move(ended), std::string{reason}})});
  }
  put_outbox(db, drafts);
}

}  // namespace remotist::store
