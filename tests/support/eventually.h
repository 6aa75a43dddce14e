// Waiting on a condition, never for a time.
#pragma once

#include <chrono>
#include <thread>

namespace remotist::test {

// Asks until it is true or the deadline has passed; true when it was.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds within = std::chrono::seconds{30}) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

}  // namespace remotist::test
