// Serialises a value quickly enough to do it at an assignment: small parts are copied, large vectors are
// pinned and stay where they are, so that another thread can read them.
//
// R's collector does not move vectors, and R copies a vector before it writes to it when it is also
// referenced from elsewhere: a pinned vector stays as it was. C code that ignores reference counts can make a
// snapshot inconsistent, but not crash its reader.
//
// R's thread; the ByteChain alone is then handed to another one.
//
// Invariants:
// - A stream refers only to vectors of shape.large; everything else in it is a copy.
// - A slot's vectors are referenced by lists_ from pin() to unpin(), so R copies them before it writes.
// - ValueShape::large is sorted and without duplicates. `plain` implies complete, cannot_fail and no
//   environments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "volunteer/runner/r.h"
#include "volunteer/runner/watch/byte_chain.h"

namespace remotist::volunteer {

// Vectors of at least this size are pinned instead of copied.
inline constexpr std::size_t kPinnedBytesMin = 64 << 10;

struct ValueShape {
  std::vector<SEXP> large{};      // numeric vectors of at least kPinnedBytesMin, each once, sorted by address
  std::size_t bytes = 0;          // of all vectors, roughly
  bool has_environments = false;  // it can change without an assignment
  bool cannot_fail = true;        // R_Serialize() cannot raise an error for it
  bool complete = true;           // false: the walk stopped at a limit
  bool plain = false;             // numbers and strings, or short lists of them, and nothing else
};
// Walks the value without evaluating anything; gives up beyond `bytes_max`.
ValueShape inspect(SEXP value, std::size_t bytes_max);

// Keeps large vectors alive and unchanged until their snapshot has been read. A slot is either free or holds
// the vectors of one snapshot; lists_ is preserved as long as R runs.
class PinnedVectors {
 public:
  explicit PinnedVectors(std::size_t slots);
  // The slot; -1 when none is free.
  int pin(const std::vector<SEXP>& vectors);
  void unpin(int slot);

 private:
  SEXP lists_;
  std::vector<bool> used_;
};

// Appends the value to the stream. Requires that the vectors in shape.large are pinned. False, with the
// problem, when R cannot serialise it.
bool serialize_into(ByteChain& stream, SEXP value, const ValueShape& shape, std::string& problem);

}  // namespace remotist::volunteer
