#include "core/amqp/backoff.h"

#include <algorithm>

namespace remotist::amqp {

Backoff::Backoff(Bounds bounds, std::uint64_t seed) : bounds_(bounds), step_(bounds.least), random_(seed) {}

std::chrono::milliseconds Backoff::next() {
  std::uniform_int_distribution<std::chrono::milliseconds::rep> within{step_.count() / 2, step_.count()};
  const std::chrono::milliseconds chosen{within(random_)};
  step_ = std::min(step_ * 2, bounds_.most);
  return chosen;
}

}  // namespace remotist::amqp
