// Which chunks a caller has uploaded, and how large they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/chunk.h"
#include "core/pg/session.h"

namespace remotist::market {

// By hexadecimal name, those of `chunks` that are present in this storage, or that the attempt it belongs to
// has named before. They cannot be collected before the transaction ends.
std::map<std::string, std::int64_t, std::less<>> chunk_sizes(pg::Session& db, const std::string& storage,
                                                             const std::vector<ChunkName>& chunks);

// What a file or a value of an attempt is about to have is charged as that from now on, no longer as an
// upload. With `perhaps` it may turn out that nothing has it, and whether it is needed is looked at soon.
// Requires that the attempt's storage is held.
void name_chunks(pg::Session& db, const std::string& storage, const std::vector<ChunkName>& chunks,
                 bool perhaps = false);

}  // namespace remotist::market
