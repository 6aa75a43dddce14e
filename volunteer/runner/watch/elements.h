// The elements of vectors, and texts, as the canonical hash sees them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "volunteer/runner/watch/mixer.h"
#include "volunteer/runner/watch/stream_reader.h"

namespace remotist::volunteer {

inline std::uint64_t canonical_bits(double value) {
  constexpr std::uint64_t kNaMark = 1954;  // the low word of R's NA
  auto bits = std::bit_cast<std::uint64_t>(value);
  if (std::isnan(value)) return (bits & 0xffffffffU) == kNaMark ? 0x7ff00000000007a2U : 0x7ff8000000000000U;
  return value == 0 ? 0 : bits;
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

inline void begin_vector(Mixer& mixer, int type, std::uint64_t count) {
  mixer.word(static_cast<std::uint64_t>(type));
  mixer.word(count);
}

template <class Element, class Bits>
void feed_numbers(Mixer& mixer, StreamReader& reader, std::uint64_t count, Bits bits) {
  Element some[1024];
  while (count > 0) {
    const auto part = std::min<std::uint64_t>(count, std::size(some));
    reader.numbers(some, part);
    for (std::uint64_t i = 0; i < part; ++i) mixer.word(bits(some[i]));
    count -= part;
  }
}

inline void feed_raw(Mixer& mixer, StreamReader& reader, std::uint64_t count) {
  char some[8192];
  while (count > 0) {
    const auto part = std::min<std::uint64_t>(count, sizeof some);
    reader.read(some, part);
    mixer.bytes(some, part);
    count -= part;
  }
}

constexpr std::uint64_t kSequence = 0x5345;  // marks what has no type of its own in R

inline void feed_sequence(Mixer& mixer, int type, double count, double first, double step) {
  if (!(count >= 0 && count < 1e10)) throw Malformed{};
  begin_vector(mixer, type, static_cast<std::uint64_t>(count));
  if (count > 1e6) {  // the same as at length only while it is short
    mixer.word(kSequence);
    mixer.word(canonical_bits(first));
    mixer.word(canonical_bits(step));
  } else {
    for (double i = 0; i < count; ++i) {
      const double value = first + i * step;
      mixer.word(type == kReal ? canonical_bits(value) : static_cast<std::uint32_t>(static_cast<int>(value)));
    }
  }
  mixer.word(0);
}

}  // namespace remotist::volunteer
