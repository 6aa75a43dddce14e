#include "market/service/cancel_job.h"

#include <vector>

#include "core/store/attempts.h"
#include "market/service/audited.h"
#include "market/store/jobs.h"

namespace remotist::market {

Result<void> cancel_job(pg::Connection& db, std::string_view token_hash, JobId id,
                        const RequestOrigin& origin) {
  return audited(db, origin, [&](AuditEvents& events) -> Result<void> {
    const auto job = lock_job(db, token_hash, id);
    if (!job) return job.refusal();
    if (job->state == JobState::cancelled) return {};
    if (ended(job->state)) return wrong_state(job->state, "it has ended");
    if (!job->is_callers)
      events.push_back({.action = "job_cancelled", .account = job->caller, .subject = id.text()});
    const std::vector<store::AttemptEnd> ends{{id, job->attempt_number, AttemptOutcome::cancelled}};
    store::lock_machine_sessions(db, ends);
    const auto attempts = store::end_attempts(db, ends);
    store::end_jobs(db, {{id, JobState::cancelled}});
    store::tell_markets_to_stop(db, attempts, "cancelled");
    for (const auto& attempt : attempts) {
      if (attempt.open) store::offer_sessions(db, {attempt.machine_session});
    }
    return {};
  });
}

}  // namespace remotist::market
