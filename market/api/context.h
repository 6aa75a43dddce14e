// What handlers stand on. One for the whole market; everything in it is thread-safe and outlives the server.
#pragma once

#include <functional>

#include "core/bounded_pool.h"
#include "core/pg/pool.h"
#include "market/config.h"
#include "market/service/health.h"
#include "market/service/metrics.h"

namespace remotist::market {

struct Context {
  const Config& config;
  pg::Pool& database;
  BoundedPool& passwords;
  Metrics& metrics;
  Health& health;
  std::function<void()> wake_publisher;  // call after a commit that wrote to the outbox
};

}  // namespace remotist::market
