// Parses request bodies that list files or chunks.
#pragma once

#include <string_view>
#include <vector>

#include "core/chunk.h"
#include "core/result.h"
#include "market/store/job_files.h"

namespace remotist {
class JsonBody;
}

namespace remotist::market {

// {"files": [file, …]}, or one file alone; a file is {"path": "main.R", "text": "x <- 1"}, or {"path":
// "big.csv", "size": 3000000, "chunks": ["…", …]}. The result has passed check_files().
Result<std::vector<JobFile>> read_file_list(std::string_view text);

// {"chunks": ["…", …]}, at most limits::kChunksAskedMax.
Result<std::vector<ChunkName>> read_chunk_list(std::string_view text);

// The same for a text that is parsed already.
Result<std::vector<JobFile>> read_file_list(JsonBody body);
Result<std::vector<ChunkName>> read_chunk_list(JsonBody body);

}  // namespace remotist::market
