// Which chunks a caller has uploaded, and how large they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/chunk.h"
#include "core/pg/connection.h"

namespace remotist::market {

// By hexadecimal name, those of `chunks` that are present in this storage, or that its attempt has referred
// to before. They cannot be collected before the transaction ends.
std::map<std::string, std::int64_t, std::less<>> chunk_sizes(pg::Connection& db, const std::string& storage,
                                                             const std::vector<ChunkName>& chunks);

// Charges these chunks to the file or value that is about to refer to them, no longer as uploads. With
// `perhaps` the reference may not be made, so the chunks are checked soon. Requires that the attempt's
// storage is locked.
void name_chunks(pg::Connection& db, const std::string& storage, const std::vector<ChunkName>& chunks,
                 bool perhaps = false);

}  // namespace remotist::market
