// The arithmetic of a hash: takes words, gives 128 bits. Not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace remotist::volunteer {

class Mixer {
 public:
  void word(std::uint64_t value) {
    auto& lane = lanes_[count_++ & 3];
    lane = std::rotl(lane + value * kFirst, 31) * kSecond;
  }
  // Bytes of one thing: its length must have gone before.
  void bytes(const char* from, std::size_t count) {
    for (; count >= 8; from += 8, count -= 8) word(load(from, 8));
    if (count > 0) word(load(from, count));
  }
  std::array<std::uint64_t, 2> result() const {
    std::uint64_t one = count_ * kThird;
    std::uint64_t two = ~count_;
    for (const auto lane : lanes_) {
      one = finish(one ^ lane) + kFirst;
      two = finish(two + std::rotl(lane, 32)) ^ kSecond;
    }
    return {finish(one), finish(two ^ one)};
  }

 private:
  static constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15U;
  static constexpr std::uint64_t kSecond = 0xd6e8feb86659fd93U;
  static constexpr std::uint64_t kThird = 0xa0761d6478bd642fU;

  static std::uint64_t load(const char* from, std::size_t count) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, count);
    return value;
  }
  static std::uint64_t finish(std::uint64_t value) {
    value = (value ^ (value >> 32)) * kSecond;
    value = (value ^ (value >> 29)) * kThird;
    return value ^ (value >> 32);
  }

  std::array<std::uint64_t, 4> lanes_{kFirst, kSecond, kThird, ~kFirst};
  std::uint64_t count_ = 0;
};

}  // namespace remotist::volunteer
