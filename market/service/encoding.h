// How the bytes of a chunk travel over HTTP.
#pragma once

#include <cstdint>

namespace remotist::market {

enum class Encoding : std::uint8_t { plain, zstd };

}  // namespace remotist::market
