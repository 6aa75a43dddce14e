// Credits: an exact amount of money of the market, in whole micro-credits.
//
// People see credits with up to six decimals; everything else, SQL included, counts micro-credits in 64 bits.
// Arithmetic that would overflow is a refusal at the edge (parse) and an abort inside (operator+, operator-).
#pragma once

#include <compare>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace remotist {

class Credits {
 public:
  constexpr Credits() = default;
  static constexpr Credits micro(std::int64_t amount) { return Credits{amount}; }

  // From a number of credits as JSON gives it. Empty unless it is finite, non-negative, at most
  // kCreditsMicroMax and has no more than six decimals.
  static std::optional<Credits> from_number(double credits);

  constexpr std::int64_t micro() const { return micro_; }
  constexpr double number() const { return static_cast<double>(micro_) / 1e6; }

  constexpr auto operator<=>(const Credits&) const = default;
  friend constexpr Credits operator+(Credits a, Credits b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.micro_, b.micro_, &sum)) std::abort();
    return Credits{sum};
  }
  friend constexpr Credits operator-(Credits a, Credits b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.micro_, b.micro_, &difference)) std::abort();
    return Credits{difference};
  }

  // A billion credits: far below 2^53, so that a double carries every amount exactly.
  static constexpr std::int64_t kCreditsMicroMax = 1'000'000'000'000'000;

 private:
  constexpr explicit Credits(std::int64_t amount) : micro_(amount) {}
  std::int64_t micro_ = 0;
};

}  // namespace remotist
