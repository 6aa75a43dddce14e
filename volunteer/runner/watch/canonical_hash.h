// A hash of a value of R that does not depend on how R happens to hold it, taken from the value's stream
// (R's serialize()).
//
// Equal: 1:3 as a compact sequence and as three numbers, every NaN, 0 and -0, a text in Latin-1 and in UTF-8,
// attributes in another order, with or without source references, a function before and after it was
// compiled, row names in short and at length, an environment whose variables were made in another order.
// Different: NA and NaN, 1L and 1, another order of elements or names.
//
// Pure, bounded by the stream's length, any thread. A stream that is not understood is hashed byte by byte.
// For comparing a value with its former self: nothing here resists an attacker.
#pragma once

#include <cstdint>

#include "volunteer/runner/watch/pieces.h"

namespace remotist::volunteer {

struct Hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Hash&) const = default;
};

Hash canonical_hash(const Pieces& stream);

}  // namespace remotist::volunteer
