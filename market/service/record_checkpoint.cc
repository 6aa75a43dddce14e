#include "market/service/record_checkpoint.h"

#include <algorithm>

#include "core/store/locks.h"

namespace remotist::market {
namespace {

Result<void> check_watched(const CheckpointCaller& bringer, const CheckpointManifest& manifest) {
  for (const auto& [variable, number] : manifest.watched) {
    if (!std::ranges::contains(bringer.watched, variable))
      return refuse(Code::invalid_field, "the job does not watch " + variable, "watched");
  }
  return {};
}

Result<int> record(pg::Connection& db, const CheckpointCaller& bringer, const CheckpointManifest& manifest) {
  const auto before = recorded_checkpoint(db, bringer.attempt, manifest.number);
  if (before.sequence) return *before.sequence;
  if (manifest.number <= before.newest_number) {
    return refuse(Code::invalid_field,
                  "number must be above " + std::to_string(before.newest_number) +
                      ", that of the attempt's newest checkpoint",
                  "number");
  }
  if (!bringer.said_resumed) {
    return refuse(Code::wrong_state,
                  "the attempt has not said from which checkpoint it went on: POST /job/{id}/resume");
  }
  if (auto checked = check_watched(bringer, manifest); !checked) return checked.refusal();
  const JobId job = bringer.attempt.job;
  const int sequence = insert_checkpoint(db, bringer.attempt, manifest);
  // From here on no chunk's presence can end.
  store::lock_storages(db, {job});
  if (const auto missing = missing_chunk(db, bringer.storage, manifest)) {
    return refuse(
        Code::chunks_missing,
        "chunk " + *missing + " is not among those of the job's checkpoints: POST /blob/missing lists them",
        "chunks");
  }
  insert_checkpoint_chunks(db, job, sequence, manifest);
  delete_older_checkpoints(db, job);
  end_unneeded_presences(db, job);
  return sequence;
}

}  // namespace

Result<CheckpointCaller> check_may_checkpoint(pg::Connection& db, const UserOrAttempt& caller, JobId job) {
  auto bringer = checkpoint_caller(db, caller, job);
  if (bringer && !bringer->resumable)
    return refuse(Code::forbidden, "the job's owner wants no checkpoints of it");
  return bringer;
}

Result<int> record_checkpoint(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                              const CheckpointManifest& manifest) {
  return db.transact([&]() -> Result<int> {
    store::lock_jobs(db, {job});
    const auto bringer = check_may_checkpoint(db, caller, job);
    if (!bringer) return bringer.refusal();
    return record(db, *bringer, manifest);
  });
}

Result<void> record_checkpoint_note(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                                    const CheckpointNote& note) {
  return db.transact([&]() -> Result<void> {
    store::lock_jobs(db, {job});
    if (const auto bringer = check_may_checkpoint(db, caller, job); !bringer) return bringer.refusal();
    note_checkpoint(db, job, note.interval_ms, note.problem);
    return {};
  });
}

}  // namespace remotist::market
