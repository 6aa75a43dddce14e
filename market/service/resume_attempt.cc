#include "market/service/resume_attempt.h"

#include "core/store/attempts.h"
#include "market/store/checkpoints.h"

namespace remotist::market {

Result<void> resume_attempt(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                            const ResumeReport& report) {
  return db.transact([&]() -> Result<void> {
    store::lock_jobs(db, {job});
    const auto machine = checkpoint_caller(db, caller, job);
    if (!machine) return machine.refusal();
    if (!note_resumed(db, machine->attempt, report)) return {};
    if (report.sequence != 0 && !is_usable(db, machine->attempt, report.sequence)) {
      return refuse(Code::invalid_field,
                    "no checkpoint from which this attempt may go on has the sequence " +
                        std::to_string(report.sequence),
                    "sequence");
    }
    pass_over_checkpoints(db, machine->attempt, report);
    store::supersede_records(db, {{job, report.sequence}});
    if (report.sequence != 0) pay_saved(db, job, report.sequence);
    return {};
  });
}

}  // namespace remotist::market
