// Chunks: taking them in, giving them out, and sweeping up. Plain blocking code for a pool's thread.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "market/store/blob_files.h"
#include "market/store/blobs.h"

namespace remotist::market {

enum class Encoding { plain, zstd };

// Takes in a chunk that the caller sends as `body`. Returns when it is on disk and recorded; idempotent. What
// is stored is our own compression of it, whatever the caller's was. A file that was lost is replaced.
// Refuses with invalid_field when the bytes are not those of the name, too_large, quota_exceeded.
Result<void> keep_chunk(pg::Session& db, const BlobFiles& files, const UserOrAttempt& caller,
                        const ChunkName& chunk, std::string_view body, Encoding encoding,
                        std::chrono::seconds pin = kPinTime);

// The bytes of a chunk to which the job refers, encoded as asked. As zstd they are not looked at: the reader
// checks them by their name.
Result<std::string> read_chunk(pg::Session& db, const BlobFiles& files, const UserOrAttempt& caller,
                               JobId job, const ChunkName& chunk, Encoding encoding);

// Lets go of every chunk that nobody needs any more; what is still needed is looked at again later. Run by
// every market; they do not get in each other's way. Ends early when it is told to stop.
void collect_chunks(pg::Session& db, const BlobFiles& files, const std::stop_token& stop = {},
                    std::chrono::seconds look_again = kPinTime);

// Deletes the files of one shard that the database does not know and that are older than that.
void collect_orphans(pg::Session& db, const BlobFiles& files, int shard, std::chrono::seconds age = kPinTime);

}  // namespace remotist::market
