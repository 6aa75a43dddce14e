// XXH3-128 over a sequence of 64-bit words: libxxhash, without a seed. For comparing values, not for secrets.
//
// Any thread; an object belongs to one at a time. The result depends on the words alone, not on how they were
// split over calls.
//
// Invariants: the words that were fed are those in state_, then the first count_ of buffer_. state_ is null,
// and the result that of one call over the buffer, as long as the words fit the buffer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <xxhash.h>

namespace remotist::volunteer {

struct Hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Hash&) const = default;
};

class WordHash {
 public:
  void word(std::uint64_t value) {
    if (count_ == kBufferedWords) flush();
    buffer_[count_++] = value;
  }
  void words(std::span<const std::uint64_t> values) {
    if (values.size() <= kBufferedWords - count_) {
      std::ranges::copy(values, buffer_.begin() + static_cast<std::ptrdiff_t>(count_));
      count_ += values.size();
    } else {
      flush();
      update(values.data(), values.size_bytes());
    }
  }
  // The last word is padded with zeros: the caller must have hashed the length.
  void bytes(const char* from, std::size_t count) {
    const std::size_t whole = count - count % sizeof(std::uint64_t);
    if (whole > kBufferedWords * sizeof(std::uint64_t)) {
      flush();
      update(from, whole);
    } else {
      for (std::size_t at = 0; at < whole; at += sizeof(std::uint64_t))
        word(load(from + at, sizeof(std::uint64_t)));
    }
    if (whole < count) word(load(from + whole, count - whole));
  }
  Hash result() {
    XXH128_hash_t hash;
    if (state_) {
      flush();
      hash = XXH3_128bits_digest(state_.get());
    } else {
      hash = XXH3_128bits(buffer_.data(), count_ * sizeof(std::uint64_t));
    }
    return {hash.high64, hash.low64};
  }

 private:
  // Most values and attributes fit the buffer; they need no state of the library, which is 576 bytes.
  static constexpr std::size_t kBufferedWords = 32;
  struct FreeState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  static std::uint64_t load(const char* from, std::size_t count) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, count);
    return value;
  }
  void flush() { update(buffer_.data(), std::exchange(count_, 0) * sizeof(std::uint64_t)); }
  void update(const void* from, std::size_t bytes) {
    if (!state_) {
      state_.reset(XXH3_createState());
      if (!state_) throw std::bad_alloc{};
      XXH3_128bits_reset(state_.get());
    }
    XXH3_128bits_update(state_.get(), from, bytes);
  }

  std::array<std::uint64_t, kBufferedWords> buffer_;  // the first count_ of them
  std::size_t count_ = 0;
  std::unique_ptr<XXH3_state_t, FreeState> state_;  // null until the buffer was full once
};

// Of the reason of a problem; of no text for a variable that was removed.
inline Hash hash_of_reason(std::string_view reason) {
  const auto hash = XXH3_128bits(reason.data(), reason.size());
  return {hash.high64, hash.low64};
}

}  // namespace remotist::volunteer
