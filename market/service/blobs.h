// Chunks: taking them in, giving them out, and sweeping up. Plain blocking code for a pool's thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "market/store/blob_files.h"
#include "market/store/blobs.h"

namespace remotist::market {

enum class Encoding { plain, zstd };

// Takes in a chunk that the caller sends as `body`. Returns when it is on disk and recorded; idempotent.
// Refuses with invalid_field when the bytes are not those of the name, too_large, quota_exceeded.
Result<void> keep_chunk(pg::Session& db, const BlobFiles& files, const UserOrAttempt& caller,
                        const ChunkName& chunk, std::string_view body, Encoding encoding,
                        std::chrono::seconds pin = kPinTime);

// The bytes of a chunk to which the job refers, encoded as asked.
Result<std::string> read_chunk(pg::Session& db, const BlobFiles& files, const UserOrAttempt& caller,
                               JobId job, const ChunkName& chunk, Encoding encoding);

struct CollectionTimes {
  std::chrono::seconds look_again = kPinTime;  // at what is still needed
  std::chrono::seconds orphan_age = kPinTime;  // of a file that the database does not know
};
// Lets go of every chunk that nobody needs any more. Run by every market; they do not get in each other's
// way.
void collect_blobs(pg::Session& db, const BlobFiles& files, CollectionTimes times = {});

}  // namespace remotist::market
