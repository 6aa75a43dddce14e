// Storing, reading and collecting chunks. Blocking code for a pool's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "market/service/encoding.h"
#include "market/store/blob_files.h"
#include "market/store/blobs.h"

namespace remotist::market {

// Stores the chunk that the caller sends as `body`. Returns when it is on disk and recorded; idempotent. The
// market compresses it itself, whatever the caller's encoding was. A lost file is replaced. Refuses with
// invalid_field when the bytes are not those of the name, too_large, quota_exceeded.
Result<void> keep_chunk(pg::Connection& db, const BlobFiles& files, const UserOrAttempt& caller,
                        const ChunkName& chunk, std::string_view body, Encoding encoding,
                        std::chrono::seconds pin = kPinTime);

// The bytes of a chunk to which the job refers, encoded as asked. As zstd they are not verified: the reader
// checks them against the chunk's name.
Result<std::string> read_chunk(pg::Connection& db, const BlobFiles& files, const UserOrAttempt& caller,
                               JobId job, const ChunkName& chunk, Encoding encoding);

// The two steps of collect_chunks(), each in one transaction. Both check at most `at_most`; what is still
// needed is checked again after `look_again`.

// Ends the presence of chunks that are neither pinned nor referenced, and returns how many it checked.
std::size_t collect_presences(pg::Connection& db, std::size_t at_most, std::chrono::seconds look_again);

// Deletes the rows of chunks without presence or reference; the caller deletes their files.
struct Collected {
  std::size_t looked_at = 0;
  std::vector<BlobFile> files{};
};
Collected collect_unneeded(pg::Connection& db, std::size_t at_most, std::chrono::seconds look_again);

// Deletes every chunk that is neither pinned nor referenced; the others are checked again after `look_again`.
// Several markets may run it at once. Returns early when `stop` is requested.
void collect_chunks(pg::Connection& db, const BlobFiles& files, const std::stop_token& stop = {},
                    std::chrono::seconds look_again = kPinTime);

// Deletes the files of one shard that the database does not know and that are older than that.
void collect_orphans(pg::Connection& db, const BlobFiles& files, int shard,
                     std::chrono::seconds age = kPinTime);

}  // namespace remotist::market
