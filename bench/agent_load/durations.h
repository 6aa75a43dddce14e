// How long things took, in little memory: 64 buckets for every doubling, so that a quantile is at most 1.6 %
// too large. Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace remotist::bench {

class Durations {
 public:
  // A negative one counts as nothing at all, one above an hour as an hour.
  void add(std::chrono::nanoseconds duration);

  // The time within which that share of them (0 … 1) was over; 0 when there are none.
  double quantile_ms(double share) const;
  std::uint64_t count() const { return count_; }

 private:
  static constexpr int kBucketBits = 6;
  static constexpr std::uint64_t kMicrosecondsMax = 3'600'000'000;
  static constexpr std::size_t kBuckets = std::size_t{34 - kBucketBits} << kBucketBits;

  static std::size_t bucket_of(std::uint64_t microseconds);
  static std::uint64_t end_of(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
};

}  // namespace remotist::bench
