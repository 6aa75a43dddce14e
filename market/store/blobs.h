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
// in use: an older one when the chunk was stored before, and then `file` may be deleted. quota_exceeded. For
// checkpoints, requires create_checkpoint_storage().
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

// Collecting, in the caller's transaction: what is due is locked and marked, so that nothing can begin to
// refer to it, and a later statement decides what is needed. Which that is, is a rule of SQL:
// blob_presence_collect and blob_collect of sql/queries/blob.sql.

// Where presences are whose pins have ended.
std::vector<std::string> storages_of_due_presences(pg::Connection& db, std::size_t at_most);
// Locks the storages; returns how many presences it marked.
std::size_t mark_due_presences(pg::Connection& db, const std::vector<std::string>& storages,
                               std::size_t at_most);
// Ends the marked presences that are not needed; the others are looked at again after that time.
void end_marked_presences(pg::Connection& db, std::chrono::seconds look_again);
std::size_t mark_due_chunks(pg::Connection& db, std::size_t at_most);
// Deletes the rows of marked chunks without presence or reference; the caller deletes their files after the
// commit.
std::vector<BlobFile> delete_marked_chunks(pg::Connection& db, std::chrono::seconds look_again);

// Those of `files` that the database does not know.
std::vector<BlobFile> unknown_files(pg::Connection& db, const std::vector<BlobFile>& files);

}  // namespace remotist::market
