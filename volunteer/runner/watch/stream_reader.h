// Reads the parts of a stream of R's serialize(), in the format of the manual "R Internals": flags before
// each item, counts, numbers. Formats "B\n" (native little-endian) and "X\n" (big-endian).
//
// Pure; needs no R. Invariant: segment_ and at_ are the position of the next unread byte. Throws Malformed
// where the stream does not contain what is read; the position is undefined then. The stream must outlive the
// reader.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "volunteer/runner/watch/byte_chain.h"

namespace remotist::volunteer {

// R's types, and, from 238 on, types that only occur in streams.
enum StreamType : int {
  kSymbol = 1,
  kPairs = 2,
  kClosure = 3,
  kEnvironment = 4,
  kPromise = 5,
  kCall = 6,
  kSpecial = 7,
  kBuiltin = 8,
  kChars = 9,
  kLogical = 10,
  kInteger = 13,
  kReal = 14,
  kComplex = 15,
  kStrings = 16,
  kDots = 17,
  kList = 19,
  kExpressions = 20,
  kByteCode = 21,
  kPointer = 22,
  kWeak = 23,
  kRaw = 24,
  kS4 = 25,
  kAltrep = 238,
  kPairsWithAttributes = 239,
  kCallWithAttributes = 240,
  kBaseEnvironment = 241,
  kEmptyEnvironment = 242,
  kCodeAgain = 243,
  kCodeFirst = 244,
  kPersistent = 247,
  kPackage = 248,
  kNamespace = 249,
  kBaseNamespace = 250,
  kMissing = 251,
  kUnbound = 252,
  kGlobal = 253,
  kNull = 254,
  kReference = 255,
};

struct Malformed {};

struct ItemHead {
  int type;
  int levels;
  bool attributes;
  bool tag;
  int flags;
};

class StreamReader {
 public:
  explicit StreamReader(const ByteChain& stream) : stream_(stream) {}

  // The stream's header; the first item follows.
  void begin() {
    const auto format = text(2);
    if (format != "B\n" && format != "X\n") throw Malformed{};
    swapped_ = format == "X\n";
    const int version = integer();
    integer();
    integer();
    if (version != 2 && version != 3) throw Malformed{};
    if (version == 3) text(count());
  }

  ItemHead head() {
    const int flags = integer();
    return {flags & 0xff, flags >> 12, (flags & 1 << 9) != 0, (flags & 1 << 10) != 0, flags};
  }
  int integer() {
    int value = 0;
    numbers(&value, 1);
    return value;
  }
  std::size_t count() {
    const int value = integer();
    if (value < 0) throw Malformed{};
    return static_cast<std::size_t>(value);
  }
  // Of a vector: may exceed an int.
  std::uint64_t length() {
    const int first = integer();
    if (first >= 0) return static_cast<std::uint64_t>(first);
    if (first != -1) throw Malformed{};
    const auto high = static_cast<std::uint64_t>(count());
    return high << 32 | static_cast<std::uint32_t>(integer());
  }
  std::string text(std::size_t count) {
    if (count > stream_.size()) throw Malformed{};
    std::string out(count, '\0');
    read(out.data(), count);
    return out;
  }
  template <class Number>
  void numbers(Number* into, std::size_t count) {
    read(reinterpret_cast<char*>(into), count * sizeof(Number));
    if (!swapped_) return;
    using Bits = std::conditional_t<sizeof(Number) == 8, std::uint64_t, std::uint32_t>;
    for (std::size_t i = 0; i < count; ++i)
      into[i] = std::bit_cast<Number>(std::byteswap(std::bit_cast<Bits>(into[i])));
  }
  void read(char* into, std::size_t count) {
    while (count > 0) {
      if (segment_ == stream_.segment_count()) throw Malformed{};
      const auto view = stream_.segment(segment_);
      const auto part = std::min(count, view.size() - at_);
      std::memcpy(into, view.data() + at_, part);
      into += part;
      count -= part;
      if ((at_ += part) == view.size()) {
        ++segment_;
        at_ = 0;
      }
    }
  }
  // The number of the earlier item that a reference names, from 0.
  std::size_t reference(const ItemHead& head) {
    const int packed = head.flags >> 8;
    const int index = packed != 0 ? packed : integer();
    if (index < 1) throw Malformed{};
    return static_cast<std::size_t>(index) - 1;
  }

 private:
  const ByteChain& stream_;
  std::size_t segment_ = 0;
  std::size_t at_ = 0;
  bool swapped_ = false;
};

}  // namespace remotist::volunteer
