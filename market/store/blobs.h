// Chunks in the database: who holds which, and which file has the bytes. All refuse with unauthenticated, or
// stale_attempt when an attempt calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "core/chunk.h"
#include "core/pg/session.h"
#include "market/store/blob_files.h"
#include "market/store/caller.h"

namespace remotist::market {

// How long a chunk stays that was just uploaded, or said to be present, and that nothing refers to.
inline constexpr std::chrono::seconds kPinTime = std::chrono::days{1};

// Those that the caller has uploaded itself, with their files' generations; they are pinned.
Result<std::map<ChunkName, GenerationId>> present_chunks(pg::Session& db, const UserOrAttempt& caller,
                                                         const std::vector<ChunkName>& asked,
                                                         std::chrono::seconds pin = kPinTime);

// Notes that the caller has uploaded a chunk whose bytes are in `file`, on disk. Returns the file that
// counts: another's, when the chunk was there already, and then `file` may be deleted. quota_exceeded.
Result<BlobFile> record_chunk(pg::Session& db, const UserOrAttempt& caller, const BlobFile& file,
                              std::size_t size, std::size_t stored_size, std::chrono::seconds pin = kPinTime);

// The file that counts was `lost`: from now on `file`, with the same bytes, does. False when that has changed
// meanwhile.
bool mend_chunk(pg::Session& db, const BlobFile& lost, const BlobFile& file, std::size_t stored_size);

// By which a folder of files is known to belong to this database.
std::string blob_store_id(pg::Session& db);

// The file of a chunk to which `job` refers, if the caller may read it: the job's owner everything, an
// attempt of that job what it needs to run. not_found says the same whether there is such a chunk or not.
struct ReadableChunk {
  BlobFile file;
  std::size_t size;
};
Result<ReadableChunk> find_chunk(pg::Session& db, const UserOrAttempt& caller, JobId job,
                                 const ChunkName& chunk);

// Ends the presence of chunks that are neither pinned nor referred to, `at_most` of them looked at; returns
// how many were looked at.
std::size_t collect_presences(pg::Session& db, std::size_t at_most, std::chrono::seconds look_again);

// Forgets chunks that nobody holds and nothing refers to; their files are to be deleted.
struct Collected {
  std::size_t looked_at;
  std::vector<BlobFile> files;
};
Collected collect_unneeded(pg::Session& db, std::size_t at_most, std::chrono::seconds look_again);

// Those of `files` that the database does not know.
std::vector<BlobFile> unknown_files(pg::Session& db, const std::vector<BlobFile>& files);

}  // namespace remotist::market
