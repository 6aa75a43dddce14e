#include "market/store/outcomes.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

using store::AttemptOutcome;

// Those whose attempts are theirs and current, by index.
std::vector<bool> current_of(pg::Session& db, const std::vector<Report>& reports) {
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
  const auto outcome = std::get<Over>(report.what).outcome;
  return outcome == AttemptOutcome::completed || outcome == AttemptOutcome::failed;
}

void accept(pg::Session& db, const std::vector<const Report*>& reports) {
  if (reports.empty()) return;
  pg::write(db, sql::attempt_accept,
            pqxx::params{pg::uuid_array(reports, [](const Report* each) { return each->attempt.job; }),
                         pg::array_of(reports, [](const Report* each) { return each->attempt.number; })});
}

// In job_file the role of what a script made is "made".
std::string role_in_sql(const std::string& role) {
  return role == "files" ? "made" : role;
}

std::string both_file_and_folder(const pqxx::row& row) {
  return row["path"].as<std::string>() + " and " + row["folder"].as<std::string>() +
         ": one of the two would be both a file and a folder";
}

void put_files(pg::Session& db, const std::vector<const Report*>& reports) {
  std::vector<JobId> bringing;
  std::vector<std::string> jobs;
  std::vector<int> numbers;
  std::vector<std::string> roles;
  std::vector<std::string> paths;
  std::vector<std::string> contents;
  for (const Report* report : reports) {
    if (!ran(*report)) continue;  // nobody's result
    for (const auto& file : std::get<Over>(report->what).files) {
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

// Moves each job on as its attempt's outcome says.
void move_jobs(pg::Session& db, const std::vector<const Report*>& reports,
               const std::vector<store::EndedAttempt>& ended) {
  std::set<JobId> moved;
  for (const auto& attempt : ended) moved.insert(attempt.job);
  std::vector<store::JobEnd> finished;
  std::map<store::Requeue, std::vector<JobId>> waiting;
  for (const Report* report : reports) {
    const JobId job = report->attempt.job;
    if (!moved.contains(job)) continue;
    const auto& over = std::get<Over>(report->what);
    if (over.outcome == AttemptOutcome::completed) {
      finished.push_back({job, JobState::completed});
    } else if (over.outcome == AttemptOutcome::failed) {
      finished.push_back({job, JobState::failed, over.failure_code, over.failure_detail});
    } else if (over.outcome == AttemptOutcome::lost) {
      waiting[store::Requeue::lost].push_back(job);
    } else if (over.outcome == AttemptOutcome::handed_back && !over.leaving) {
      waiting[store::Requeue::handed_back].push_back(job);
    } else {
      waiting[store::Requeue::not_begun].push_back(job);
    }
  }
  for (const auto& [why, jobs] : waiting) {
    const auto failed = store::requeue_jobs(db, jobs, why);
    finished.insert(finished.end(), failed.begin(), failed.end());
  }
  store::end_jobs(db, finished);
}

std::vector<store::AttemptEnd> ends_of(const std::vector<const Report*>& reports) {
  std::vector<store::AttemptEnd> ends;
  for (const Report* report : reports) {
    const auto& over = std::get<Over>(report->what);
    ends.push_back({report->attempt.job, report->attempt.number, over.outcome, over.cpu_ms});
  }
  return ends;
}

void finish(pg::Session& db, const std::vector<const Report*>& reports,
            const std::vector<store::AttemptEnd>& ends) {
  if (reports.empty()) return;
  const auto ended = store::end_attempts(db, ends);
  move_jobs(db, reports, ended);
  put_files(db, reports);
  std::vector<SessionId> free;
  for (const auto& attempt : ended) {
    if (attempt.open) free.push_back(attempt.session);
  }
  store::offer_sessions(db, free);
}

// What machines measured of attempts that were stopped is all that counts of their reports.
void settle(pg::Session& db, const std::vector<Report>& reports, std::vector<bool>& counts) {
  std::vector<store::Measured> measured;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto* const over = std::get_if<Over>(&reports[i].what);
    if (counts[i] || over == nullptr || !reports[i].token_hash) continue;
    const auto& [job, number] = reports[i].attempt;
    measured.push_back({job, number, reports[i].machine, *reports[i].token_hash, over->cpu_ms});
    which.push_back(i);
  }
  if (measured.empty()) return;
  const auto closed = db.transact([&] {
    store::lock_jobs(db, pg::array_of(measured, &store::Measured::job));
    return store::close_settlements(db, measured);
  });
  for (const std::size_t i : which) counts[i] = std::ranges::contains(closed, reports[i].attempt.job);
}

std::vector<bool> record_current(pg::Session& db, const std::vector<Report>& reports) {
  return db.transact([&] {
    store::lock_jobs(db, pg::array_of(reports, [](const Report& each) { return each.attempt.job; }));
    auto current = current_of(db, reports);
    std::vector<const Report*> accepted;
    std::vector<const Report*> over;
    std::set<JobId> ending;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      if (!current[i]) continue;
      if (std::holds_alternative<Accepted>(reports[i].what)) {
        // What a machine says of an attempt after its end comes too late.
        if (ending.contains(reports[i].attempt.job)) {
          current[i] = false;
        } else {
          accepted.push_back(&reports[i]);
        }
      } else if (ending.insert(reports[i].attempt.job).second) {
        over.push_back(&reports[i]);
        // Whoever brings the end of the work has taken it on.
        if (ran(reports[i])) accepted.push_back(&reports[i]);
      } else {
        current[i] = false;
      }
    }
    const auto ends = ends_of(over);
    store::lock_sessions(db, ends);
    accept(db, accepted);
    finish(db, over, ends);
    return current;
  });
}

}  // namespace

std::vector<bool> record_reports(pg::Session& db, const std::vector<Report>& reports) {
  auto counts = record_current(db, reports);
  settle(db, reports, counts);
  return counts;
}

}  // namespace remotist::market
