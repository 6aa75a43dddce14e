#include "market/service/checkpoint_room.h"

#include "core/store/locks.h"
#include "market/store/checkpoints.h"

namespace remotist::market {
namespace {

// Drops a checkpoint. False: none could be dropped, and the attempt's new uploads are forgotten, since they
// would leave no room for a smaller checkpoint later.
bool make_room(pg::Connection& db, const UserOrAttempt& caller) {
  return db.transact([&] {
    const auto job = caller.attempt->job;
    store::lock_jobs(db, {job});
    if (!checkpoint_caller(db, caller, job)) return true;  // the next try says why
    store::lock_storages(db, {job});
    if (drop_oldest_checkpoint(db, job)) return true;
    end_unneeded_presences(db, job);
    return false;
  });
}

}  // namespace

Result<BlobFile> record_checkpoint_chunk(pg::Connection& db, const UserOrAttempt& caller,
                                         const BlobFile& file, std::size_t size, std::size_t stored_size,
                                         std::chrono::seconds pin) {
  const auto bringer = checkpoint_caller(db, caller, caller.attempt->job);
  if (!bringer) return bringer.refusal();
  if (!bringer->resumable) return refuse(Code::forbidden, "the job's owner wants no checkpoints of it");
  if (!bringer->storage) create_checkpoint_storage(db, caller);
  while (true) {
    auto recorded = record_chunk(db, caller, file, size, stored_size, pin);
    if (recorded || recorded.refusal().code != Code::quota_exceeded || !make_room(db, caller))
      return recorded;
  }
}

}  // namespace remotist::market
