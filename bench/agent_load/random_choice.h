// The random choices of one machine: the same for the same seed and machine. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace remotist::bench {

class RandomChoice {
 public:
  RandomChoice(std::uint64_t seed, std::uint64_t machine) {
    std::seed_seq both{seed, seed >> 32, machine};
    generator_.seed(both);
  }

  bool happens(double probability) {
    return probability > 0 && std::uniform_real_distribution<>{0, 1}(generator_) < probability;
  }

  // From the one to the other, both possible. Requires least <= most.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least == most ? least : std::uniform_int_distribution{least, most}(generator_);
  }

  // The time to the next of events that come so often a second. Requires that they come at all.
  std::chrono::nanoseconds until_next(double per_second) {
    const double seconds = std::exponential_distribution<>{per_second}(generator_);
    return std::chrono::nanoseconds{static_cast<std::int64_t>(seconds * 1e9)};
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace remotist::bench
