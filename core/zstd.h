// One zstd frame around at most one chunk. Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace remotist {

// A frame that states its size and ends with a checksum. A lower level is faster and makes larger frames.
inline constexpr int kZstdLevel = 3;
std::string zstd_compress(std::string_view bytes, int level = kZstdLevel);

// Nothing unless `frame` is exactly one whole frame that states its size, which is at most `bytes_max`. Never
// uses much more memory than that, whatever the frame says.
std::optional<std::string> zstd_decompress(std::string_view frame, std::size_t bytes_max);

}  // namespace remotist
