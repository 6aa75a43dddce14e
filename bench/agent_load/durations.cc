#include "bench/agent_load/durations.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace remotist::bench {

// Below 128 a bucket is one microsecond; above, the number's first seven bits choose it.
std::size_t Durations::bucket_of(std::uint64_t microseconds) {
  const int shift = std::max(std::bit_width(microseconds) - (kBucketBits + 1), 0);
  return (static_cast<std::size_t>(shift) << kBucketBits) + (microseconds >> shift);
}

std::uint64_t Durations::end_of(std::size_t bucket) {
  const std::size_t row = bucket >> kBucketBits;
  if (row < 2) return bucket + 1;
  const std::size_t shift = row - 1;
  return (bucket - (shift << kBucketBits) + 1) << shift;
}

void Durations::add(std::chrono::nanoseconds duration) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  const auto counted =
      std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(microseconds, 0)), kMicrosecondsMax);
  ++counts_[bucket_of(counted)];
  ++count_;
}

double Durations::quantile_ms(double share) const {
  if (count_ == 0) return 0;
  const auto wanted =
      std::max<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))), 1);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted) return static_cast<double>(end_of(bucket)) / 1000;
  }
  return static_cast<double>(kMicrosecondsMax) / 1000;
}

}  // namespace remotist::bench
