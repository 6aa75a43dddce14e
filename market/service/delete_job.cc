#include "market/service/delete_job.h"

#include "core/store/attempts.h"
#include "market/store/jobs.h"

namespace remotist::market {

Result<void> delete_job(pg::Connection& db, std::string_view token_hash, JobId id) {
  return db.transact([&]() -> Result<void> {
    const auto state = lock_job_to_delete(db, token_hash, id);
    if (!state) return state.refusal();
    if (*state != JobState::uploading && !ended(*state))
      return wrong_state(*state, "cancel it before you delete it");
    store::delete_jobs(db, {id});
    return {};
  });
}

}  // namespace remotist::market
