#include "market/service/record_reports.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "market/store/attempts.h"
#include "market/store/job_files.h"

namespace remotist::market {
namespace {

std::vector<bool> current_of(pg::Connection& db, const std::vector<Report>& reports) {
  std::vector<NamedAttempt> named;
  for (const auto& report : reports) named.push_back({report.machine, report.attempt, report.token_hash});
  return are_current(db, named);
}

bool ran(const Report& report) {
  return row_of(std::get<AttemptEnded>(report.what).outcome).ran;
}

void put_outcome_files(pg::Connection& db, const std::vector<const Report*>& reports) {
  std::vector<AttemptFile> files;
  std::vector<JobId> bringing;
  std::set<JobId> made_in;
  for (const Report* report : reports) {
    if (!ran(*report)) continue;  // not a result
    for (const auto& file : std::get<AttemptEnded>(report->what).files) {
      files.push_back({report->attempt, &file});
      bringing.push_back(report->attempt.job);
      if (file.role == "files") made_in.insert(report->attempt.job);
    }
  }
  if (files.empty()) return;
  store::lock_storages(db, bringing);
  replace_files(db, files);
  // Those of one report fit each other; others may have come over REST.
  for (const JobId job : made_in) {
    if (const auto conflict = find_path_conflict(db, job, FileRole::made)) {
      throw FilesDoNotFit{conflict->file + " and " + conflict->folder +
                          ": one of the two would be both a file and a folder"};
    }
  }
}

// Sets each job's state by its attempt's outcome.
void move_jobs(pg::Connection& db, const std::vector<const Report*>& reports,
               const std::vector<store::EndedAttempt>& ended) {
  std::map<JobId, bool> moved;  // and whether its attempt had been asked to hand it over
  for (const auto& attempt : ended) moved.emplace(attempt.job, attempt.leaving);
  std::vector<store::JobEnd> finished;
  std::map<std::pair<AttemptOutcome, bool>, std::vector<JobId>> waiting;  // by outcome and whether it counts
  for (const Report* report : reports) {
    const JobId job = report->attempt.job;
    const auto found = moved.find(job);
    if (found == moved.end()) continue;
    const auto& ended_report = std::get<AttemptEnded>(report->what);
    const JobState becomes = row_of(ended_report.outcome).job_becomes;
    if (becomes == JobState::queued) {
      const bool counts =
          ended_report.outcome != AttemptOutcome::handed_back || (!ended_report.leaving && !found->second);
      waiting[{ended_report.outcome, counts}].push_back(job);
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
  put_outcome_files(db, reports);
  std::vector<MachineSessionId> free;
  for (const auto& attempt : ended) {
    if (attempt.open) free.push_back(attempt.machine_session);
  }
  store::offer_sessions(db, free);
}

// Of reports about stopped attempts only the CPU time is used.
void settle(pg::Connection& db, const std::vector<Report>& reports, std::vector<bool>& counts) {
  std::vector<JobId> jobs;
  std::vector<store::Measured> measured;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto* const ended_report = std::get_if<AttemptEnded>(&reports[i].what);
    if (counts[i] || ended_report == nullptr || !reports[i].token_hash) continue;
    const auto& [job, number] = reports[i].attempt;
    jobs.push_back(job);
    measured.push_back({job, number, reports[i].machine, *reports[i].token_hash, ended_report->cpu_ms});
    which.push_back(i);
  }
  if (measured.empty()) return;
  const auto closed = db.transact([&] {
    store::lock_jobs(db, jobs);
    return store::close_settlements(db, measured);
  });
  for (const std::size_t i : which) counts[i] = std::ranges::contains(closed, reports[i].attempt.job);
}

// The reports of current attempts: those that accept, and those that end. A completed or failed attempt is in
// both, because it counts as accepted.
struct CurrentReports {
  std::vector<protocol::AttemptName> accepted;
  std::vector<const Report*> endings;
};
// Clears the reports that are stale because of an earlier one of the same group: after an attempt's end.
CurrentReports current_reports(const std::vector<Report>& reports, std::vector<bool>& current) {
  CurrentReports found;
  std::set<JobId> ending;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!current[i]) continue;
    const Report& report = reports[i];
    if (ending.contains(report.attempt.job)) {
      current[i] = false;
    } else if (std::holds_alternative<AttemptAccepted>(report.what)) {
      found.accepted.push_back(report.attempt);
    } else {
      ending.insert(report.attempt.job);
      found.endings.push_back(&report);
      if (ran(report)) found.accepted.push_back(report.attempt);
    }
  }
  return found;
}

std::vector<bool> record_current(pg::Connection& db, const std::vector<Report>& reports) {
  return db.transact([&] {
    std::vector<JobId> jobs;
    for (const auto& report : reports) jobs.push_back(report.attempt.job);
    store::lock_jobs(db, jobs);
    auto current = current_of(db, reports);
    const auto found = current_reports(reports, current);
    const auto ends = ends_of(found.endings);
    store::lock_machine_sessions(db, ends);
    accept_attempts(db, found.accepted);
    finish(db, found.endings, ends);
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
