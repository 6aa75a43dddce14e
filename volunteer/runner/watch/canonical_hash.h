// A 128-bit hash of a value of R, taken from its stream (R's serialize()), that does not depend on how R
// represents the value.
//
// Equal: 1:3 as a compact sequence and as three numbers, every NaN, 0 and -0, a string in Latin-1 and in
// UTF-8, attributes in another order, with or without source references, a function before and after it was
// compiled, row names in compact form and in full, an environment whose variables were created in another
// order. Different: NA and NaN, 1L and 1, another order of elements or names.
//
// Pure; any thread; time and memory are bounded by the stream's length. A stream that cannot be parsed is
// hashed byte by byte. For comparing a value with its predecessor: nothing here resists an attacker.
//
// Invariants: the hash depends on the bytes of the stream alone, not on how the chain is cut into segments,
// nor on the process. The chain is not changed.
#pragma once

#include "volunteer/runner/watch/byte_chain.h"
#include "volunteer/runner/watch/word_hash.h"

namespace remotist::volunteer {

Hash canonical_hash(const ByteChain& stream);

}  // namespace remotist::volunteer
