#include "market/store/outcomes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

// By index: whether the report's attempt is current and the machine's.
std::vector<bool> current_of(pg::Connection& db, const std::vector<Report>& reports) {
  std::vector<bool> current(reports.size());
  const auto rows = pg::read(
      db, sql::attempt_current,
      pqxx::params{
          pg::uuid_array(reports, [](const Report& each) { return each.attempt.job; }),
          pg::array_of(reports, [](const Report& each) { return each.attempt.number; }),
          pg::array_of(reports,
                       [](const Report& each) { return pg::bytea_text(each.token_hash.value_or("")); }),
          pg::uuid_array(reports, &Report::machine)});
  for (const auto& row : rows) current[row["position"].as<std::size_t>() - 1] = true;
  return current;
}

bool ran(const Report& report) {
  return row_of(std::get<AttemptEnded>(report.what).outcome).ran;
}

void accept(pg::Connection& db, const std::vector<const Report*>& reports) {
  if (reports.empty()) return;
  pg::write(db, sql::attempt_accept,
            pqxx::params{pg::uuid_array(reports, [](const Report* each) { return each->attempt.job; }),
                         pg::array_of(reports, [](const Report* each) { return each->attempt.number; })});
}

// The role "files" of the protocol is "made" in SQL.
std::string role_in_sql(const std::string& role) {
  return role == "files" ? "made" : role;
}

std::string both_file_and_folder(const pqxx::row& row) {
  return row["path"].as<std::string>() + " and " + row["folder"].as<std::string>() +
         ": one of the two would be both a file and a folder";
}

void put_files(pg::Connection& db, const std::vector<const Report*>& reports) {
  std::vector<JobId> bringing;
  std::vector<std::string> jobs;
  std::vector<int> numbers;
  std::vector<std::string> roles;
  std::vector<std::string> paths;
  std::vector<std::string> contents;
  for (const Report* report : reports) {
    if (!ran(*report)) continue;  // not a result
    for (const auto& file : std::get<AttemptEnded>(report->what).files) {
      bringing.push_back(report->attempt.job);
      jobs.push_back(report->attempt.job.text());
      numbers.push_back(report->attempt.number);
      roles.push_back(role_in_sql(file.role));
      paths.push_back(file.path);
      contents.push_back(pg::bytea_text(file.bytes));
    }
  }
  if (jobs.empty()) return;
  store::lock_storages(db, bringing);
  pg::write(db, sql::attempt_files_replaced, pqxx::params{jobs, numbers, roles, paths});
  pg::write(db, sql::attempt_files_insert, pqxx::params{jobs, numbers, roles, paths, contents});
  std::set<std::string> made_in;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (roles[i] == "made") made_in.insert(jobs[i]);
  }
  // Those of one report fit each other; others may have come over REST.
  for (const auto& job : made_in) {
    const auto rows =
        pg::read(db, sql::job_files_conflict, pqxx::params{job, std::vector<std::string>{"made"}});
    if (!rows.empty()) throw FilesDoNotFit{both_file_and_folder(rows[0])};
  }
}

// Sets each job's state by its attempt's outcome.
void move_jobs(pg::Connection& db, const std::vector<const Report*>& reports,
               const std::vector<store::EndedAttempt>& ended) {
  std::set<JobId> moved;
  for (const auto& attempt : ended) moved.insert(attempt.job);
  std::vector<store::JobEnd> finished;
  std::map<std::pair<AttemptOutcome, bool>, std::vector<JobId>> waiting;  // by outcome and whether it counts
  for (const Report* report : reports) {
    const JobId job = report->attempt.job;
    if (!moved.contains(job)) continue;
    const auto& ended_report = std::get<AttemptEnded>(report->what);
    const JobState becomes = row_of(ended_report.outcome).job_becomes;
    if (becomes == JobState::queued) {
      waiting[{ended_report.outcome, !ended_report.leaving}].push_back(job);
    } else if (becomes == JobState::failed) {
      finished.push_back({job, becomes, ended_report.failure_code, ended_report.failure_detail});
    } else {
      finished.push_back({job, becomes});
    }
  }
  for (const auto& [outcome_counts, jobs] : waiting) {
    const auto failed = store::requeue_jobs(db, jobs, outcome_counts.first, outcome_counts.second);
    finished.insert(finished.end(), failed.begin(), failed.end());
  }
  store::end_jobs(db, finished);
}

std::vector<store::AttemptEnd> ends_of(const std::vector<const Report*>& reports) {
  std::vector<store::AttemptEnd> ends;
  for (const Report* report : reports) {
    const auto& ended_report = std::get<AttemptEnded>(report->what);
    ends.push_back({report->attempt.job, report->attempt.number, ended_report.outcome, ended_report.cpu_ms});
  }
  return ends;
}

void finish(pg::Connection& db, const std::vector<const Report*>& reports,
            const std::vector<store::AttemptEnd>& ends) {
  if (reports.empty()) return;
  const auto ended = store::end_attempts(db, ends);
  move_jobs(db, reports, ended);
  put_files(db, reports);
  std::vector<MachineSessionId> free;
  for (const auto& attempt : ended) {
    if (attempt.open) free.push_back(attempt.machine_session);
  }
  store::offer_sessions(db, free);
}

// Of reports about stopped attempts only the CPU time is used.
void settle(pg::Connection& db, const std::vector<Report>& reports, std::vector<bool>& counts) {
  std::vector<store::Measured> measured;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto* const ended_report = std::get_if<AttemptEnded>(&reports[i].what);
    if (counts[i] || ended_report == nullptr || !reports[i].token_hash) continue;
    const auto& [job, number] = reports[i].attempt;
    measured.push_back({job, number, reports[i].machine, *reports[i].token_hash, ended_report->cpu_ms});
    which.push_back(i);
  }
  if (measured.empty()) return;
  const auto closed = db.transact([&] {
    store::lock_jobs(db, pg::array_of(measured, &store::Measured::job));
    return store::close_settlements(db, measured);
  });
  for (const std::size_t i : which) counts[i] = std::ranges::contains(closed, reports[i].attempt.job);
}

std::vector<bool> record_current(pg::Connection& db, const std::vector<Report>& reports) {
  return db.transact([&] {
    store::lock_jobs(db, pg::array_of(reports, [](const Report& each) { return each.attempt.job; }));
    auto current = current_of(db, reports);
    std::vector<const Report*> accepted;
    std::vector<const Report*> endings;
    std::set<JobId> ending;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      if (!current[i]) continue;
      if (std::holds_alternative<AttemptAccepted>(reports[i].what)) {
        // An acceptance after the end is stale.
        if (ending.contains(reports[i].attempt.job)) {
          current[i] = false;
        } else {
          accepted.push_back(&reports[i]);
        }
      } else if (ending.insert(reports[i].attempt.job).second) {
        endings.push_back(&reports[i]);
        if (ran(reports[i])) accepted.push_back(&reports[i]);
      } else {
        current[i] = false;
      }
    }
    const auto ends = ends_of(endings);
    store::lock_machine_sessions(db, ends);
    accept(db, accepted);
    finish(db, endings, ends);
    return current;
  });
}

}  // namespace

std::vector<bool> record_reports(pg::Connection& db, const std::vector<Report>& reports) {
  auto counts = record_current(db, reports);
  settle(db, reports, counts);
  return counts;
}

}  // namespace remotist::market
