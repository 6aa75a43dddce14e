// A checkpoint on the disc:
//
//   "remotist checkpoint 1\n"
//   u64 length of the state, the state (what R's serialize makes, native binary format)
//   u64 number of files; for each: u32 length of the path, path, u32 mode, i64 seconds and i64 nanoseconds of
//   its last change, u64 length, contents u64 length of the state once more, u64 digest of all before; for
//   the digest the first length is 0
//
// It is written under another name, synced, and renamed: what has the right name is whole, or the disc is
// broken; the digest tells.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace remotist::volunteer::checkpoint {

constexpr std::string_view kMagic = "remotist checkpoint 1\n";

// Tells damage, not malice: eight bytes at a time, each of them reaches all bits of the sum.
class Digest {
 public:
  void add(const void* bytes, std::size_t length) {
    const auto* from = static_cast<const unsigned char*>(bytes);
    total_ += length;
    while (length > 0 && (pending_ > 0 || length < 8)) {
      word_[pending_++] = *from++;
      --length;
      if (pending_ == 8) flush();
    }
    for (; length >= 8; from += 8, length -= 8) {
      std::memcpy(word_, from, 8);
      flush();
    }
    while (length > 0) {
      word_[pending_++] = *from++;
      --length;
    }
  }

  [[nodiscard]] std::uint64_t value() const {
    Digest last = *this;
    std::memset(last.word_ + last.pending_, 0, 8 - last.pending_);
    last.flush();
    return last.sum_ ^ (total_ * 0x9E3779B97F4A7C15ULL);
  }

 private:
  void flush() {
    std::uint64_t w = 0;
    std::memcpy(&w, word_, 8);
    sum_ = (sum_ ^ w) * 0xD6E8FEB86659FD93ULL;
    sum_ ^= sum_ >> 32;
    pending_ = 0;
  }

  unsigned char word_[8] = {};
  std::size_t pending_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t sum_ = 0x2545F4914F6CDD1DULL;
};

}  // namespace remotist::volunteer::checkpoint
