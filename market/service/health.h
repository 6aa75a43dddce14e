// Whether what the market stands on is there. Each flag is written by whoever knows and read by /healthz.
#pragma once

#include <atomic>

namespace remotist::market {

struct Health {
  std::atomic<bool> database_up = false;
  std::atomic<bool> broker_up = false;
  std::atomic<bool> stopping = false;
};

}  // namespace remotist::market
