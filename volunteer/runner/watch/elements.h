// The canonical form of vectors' elements and of strings, fed to a hash.
//
// Pure; any thread. Invariants: equal values feed equal words, however R represents them, but for
// sequences of more than a million elements. A vector feeds its
// type and length before its elements, so that no two vectors feed the same words. Every function reads
// exactly the bytes of its elements from the stream, or throws Malformed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "volunteer/runner/watch/stream_reader.h"
#include "volunteer/runner/watch/word_hash.h"

namespace remotist::volunteer {

// Without branches, so that the compiler can vectorise loops over it.
inline std::uint64_t canonical_bits(double value) {
  constexpr std::uint64_t kNaMark = 1954;  // the low word of R's NA
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t nan = (bits & 0xffffffffU) == kNaMark ? 0x7ff00000000007a2U : 0x7ff8000000000000U;
  const std::uint64_t number = value == 0 ? 0 : bits;
  return value != value ? nan : number;
}

inline std::string utf8_of_latin1(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | (byte >> 6));
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

inline void begin_vector(WordHash& hash, int type, std::uint64_t count) {
  hash.word(static_cast<std::uint64_t>(type));
  hash.word(count);
}

template <class Element, class Bits>
void feed_numbers(WordHash& hash, StreamReader& reader, std::uint64_t count, Bits bits) {
  Element buffer[1024];
  std::uint64_t words[std::size(buffer)];
  while (count > 0) {
    const auto part = std::min<std::uint64_t>(count, std::size(buffer));
    reader.numbers(buffer, part);
    std::transform(buffer, buffer + part, words, bits);
    hash.words({words, part});
    count -= part;
  }
}

inline void feed_raw(WordHash& hash, StreamReader& reader, std::uint64_t count) {
  char buffer[8192];
  while (count > 0) {
    const auto part = std::min<std::uint64_t>(count, sizeof buffer);
    reader.read(buffer, part);
    hash.bytes(buffer, part);
    count -= part;
  }
}

constexpr std::uint64_t kSequence = 0x5345;  // no type of R has this number

inline void feed_sequence(WordHash& hash, int type, double count, double first, double step) {
  if (!(count >= 0 && count < 1e10)) throw Malformed{};
  begin_vector(hash, type, static_cast<std::uint64_t>(count));
  if (count > 1e6) {  // a longer one is not equal to the same numbers in full
    hash.word(kSequence);
    hash.word(canonical_bits(first));
    hash.word(canonical_bits(step));
  } else {
    for (double i = 0; i < count; ++i) {
      const double value = first + i * step;
      hash.word(type == kReal ? canonical_bits(value) : static_cast<std::uint32_t>(static_cast<int>(value)));
    }
  }
  hash.word(0);
}

}  // namespace remotist::volunteer
