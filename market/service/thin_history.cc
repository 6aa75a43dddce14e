#include "market/service/thin_history.h"

#include <set>

#include "core/limits.h"
#include "market/store/caller.h"
#include "market/store/watched_records.h"

namespace remotist::market {
namespace {

// Deletes the records of lost attempts of one variable in each job that has any; returns those jobs.
std::set<JobId> drop_superseded(pg::Connection& db, const std::vector<ExcessVariable>& variables) {
  std::set<JobId> dropped;
  for (const auto& each : variables) {
    if (!each.has_superseded || dropped.contains(each.job)) continue;
    if (delete_superseded(db, each.job, each.variable)) dropped.insert(each.job);
  }
  return dropped;
}

}  // namespace

void thin_histories(pg::Connection& db, const std::vector<JobId>& jobs, std::int64_t bytes_max) {
  for (;;) {
    const auto variables = excess_variables(db, jobs, limits::kHistoryRecordsMax, bytes_max);
    auto reduced = drop_superseded(db, variables);
    bool too_large = false;
    for (const auto& each : variables) {
      if (reduced.contains(each.job)) continue;
      if (each.has_older && thin(db, each.job, each.variable)) {
        reduced.insert(each.job);
      } else {
        too_large |= each.beyond_quota;
      }
    }
    if (!reduced.empty()) continue;
    if (too_large) throw pg::ConstraintViolated{kHistoryFits, "the newest values of a job are too large"};
    return;
  }
}

}  // namespace remotist::market
