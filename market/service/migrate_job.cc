#include "market/service/migrate_job.h"

#include "core/queue_messages.h"
#include "core/queue_names.h"
#include "core/store/outbox.h"
#include "market/service/audited.h"
#include "market/store/jobs.h"
#include "market/store/resumed_attempts.h"

namespace remotist::market {

Result<void> migrate_job(pg::Connection& db, std::string_view token_hash, JobId id,
                         const RequestOrigin& origin) {
  return audited(db, origin, [&](AuditEvents& events) -> Result<void> {
    const auto job = lock_job(db, token_hash, id);
    if (!job) return job.refusal();
    if (job->state != JobState::running)
      return wrong_state(job->state, "only a job that runs on a machine can be moved to another one");
    const protocol::AttemptName attempt{id, job->attempt_number};
    const auto leaving = ask_to_leave(db, attempt);
    if (!leaving) return wrong_state(job->state, "its attempt has just ended");
    if (!job->is_callers)
      events.push_back({.action = "job_migrated", .account = job->caller, .subject = id.text()});
    const auto reason =
        job->is_callers ? "its owner moves it to another machine" : "an admin moves it to another machine";
    store::put_outbox(db, {{amqp::market_queue(leaving->market.text()),
                            queue::text_of(queue::HandOver{{{leaving->machine_session, attempt}}, reason})}});
    return {};
  });
}

}  // namespace remotist::market
