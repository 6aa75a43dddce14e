// The clock of agent code: monotonic, and passed in by the caller so that tests can use a simulated time.
#pragma once

#include <chrono>

namespace remotist::volunteer {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

}  // namespace remotist::volunteer
