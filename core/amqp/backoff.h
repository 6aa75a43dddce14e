// How long to wait before trying again: doubles from `least` to `most`, with jitter, so that many clients
// that lost the same broker do not come back in step.
#pragma once

#include <chrono>
#include <random>

namespace remotist::amqp {

class Backoff {
 public:
  struct Bounds {
    std::chrono::milliseconds least{100};
    std::chrono::milliseconds most{5000};
  };

  explicit Backoff(Bounds bounds, std::uint64_t seed = std::random_device{}());

  // Between half the current step and the whole of it; the next step is twice as long.
  std::chrono::milliseconds next();
  void reset() { step_ = bounds_.least; }

 private:
  Bounds bounds_;
  std::chrono::milliseconds step_;
  std::mt19937_64 random_;
};

}  // namespace remotist::amqp
