// The stream of a value, taken in a moment: small parts are copied, large vectors are held and stay where
// they are, so that another thread can read them.
//
// R's collector does not move vectors, and R copies a vector before it writes to it when somebody else holds
// it too: what is held stays as it was. C code that ignores this can tear a snapshot, not crash it.
//
// R's thread, but for Snapshot itself, which goes to another once it has been taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "volunteer/runner/r.h"
#include "volunteer/runner/watch/pieces.h"

namespace remotist::volunteer {

// Vectors from this size on are held instead of copied.
inline constexpr std::size_t kHeldBytesMin = 64 << 10;

// What a value is made of.
struct Survey {
  std::vector<SEXP> large{};  // plain vectors of at least kHeldBytesMin, each once
  std::size_t bytes = 0;      // of all vectors, roughly
  bool environments = false;  // it can change without an assignment
  bool simple = true;         // serialising it cannot fail
  bool whole = true;          // false: given up at a limit
  bool bare = false;          // numbers and texts, and short lists of them, and nothing else
};
Survey survey(SEXP value, std::size_t bytes_max);

// Keeps large vectors until their snapshot has been read.
class Holder {
 public:
  // So many at once.
  explicit Holder(std::size_t slots);
  // The slot; -1 when all are taken.
  int hold(const std::vector<SEXP>& vectors);
  void release(int slot);

 private:
  SEXP lists_;
  std::vector<bool> taken_;
};

// Writes the stream. Requires that `large` are held if there are any. False, with words, when R cannot.
bool serialize_into(Pieces& stream, SEXP value, const Survey& made_of, std::string& words);

}  // namespace remotist::volunteer
