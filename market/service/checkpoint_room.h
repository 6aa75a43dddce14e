// Space for the chunks of a checkpoint that is being sent.
#pragma once

#include <chrono>
#include <cstddef>

#include "market/store/blobs.h"

namespace remotist::market {

// As record_chunk(), for the job's checkpoints: the job's older checkpoints make room for it, the oldest
// first. With one left it refuses with quota_exceeded, and forgets what was uploaded of others: the machine
// gives its new checkpoint up. forbidden when the job's owner wants no checkpoints. Requires
// caller.for_checkpoint.
Result<BlobFile> record_checkpoint_chunk(pg::Connection& db, const UserOrAttempt& caller,
                                         const BlobFile& file, std::size_t size, std::size_t stored_size,
                                         std::chrono::seconds pin);

}  // namespace remotist::market
