// Chunks in the database: who has uploaded which, and which file has the bytes. All refuse with
// unauthenticated, or stale_attempt when an attempt calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "core/chunk.h"
#include "core/pg/connection.h"
#include "market/store/blob_files.h"
#include "market/store/caller.h"

namespace remotist::market {

// How long an unreferenced chunk is kept after it was uploaded or reported present.
inline constexpr std::chrono::seconds kPinTime = std::chrono::days{1};

// The chunks that the caller itself has uploaded, with their files' generations; pins them.
Result<std::map<ChunkName, GenerationId>> present_chunks(pg::Connection& db, const UserOrAttempt& caller,
                                                         const std::vector<ChunkName>& asked,
                                                         std::chrono::seconds pin = kPinTime);

// Records that the caller has uploaded a chunk whose bytes are in `file`, on disk. Returns the file that is
// in use: an older one when the chunk was stored before, and then `file` may be deleted. quota_exceeded.
Result<BlobFile> record_chunk(pg::Connection& db, const UserOrAttempt& caller, const BlobFile& file,
                              std::size_t size, std::size_t stored_size, std::chrono::seconds pin = kPinTime);

// Replaces the missing file `lost` by `file`, which has the same bytes. False when another market has
// replaced it meanwhile.
bool mend_chunk(pg::Connection& db, const BlobFile& lost, const BlobFile& file, std::size_t stored_size);

// The id that ties a folder of files to this database.
std::string blob_store_id(pg::Connection& db);

// The file of a chunk to which `job` refers, if the caller may read it: the job's owner everything, an
// attempt of that job what it needs to run. not_found does not reveal whether the chunk exists.
struct ReadableChunk {
  BlobFile file;
  std::size_t size;
};
Result<ReadableChunk> find_chunk(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                                 const ChunkName& chunk);

// Ends the presence of chunks that are neither pinned nor referenced; checks at most `at_most` and returns
// how many it checked.
std::size_t collect_presences(pg::Connection& db, std::size_t at_most, std::chrono::seconds look_again);

// Deletes the rows of chunks without presence or reference; the caller deletes their files.
struct Collected {
  std::size_t looked_at;
  std::vector<BlobFile> files;
};
Collected collect_unneeded(pg::Connection& db, std::size_t at_most, std::chrono::seconds look_again);

// Those of `files` that the database does not know.
std::vector<BlobFile> unknown_files(pg::Connection& db, const std::vector<BlobFile>& files);

}  // namespace remotist::market
