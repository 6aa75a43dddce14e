// What handlers stand on. One for the whole market; everything in it is thread-safe and outlives the server.
#pragma once

#include <functional>

#include "core/digest.h"
#include "core/pg/pool.h"
#include "market/config.h"
#include "market/service/answer_budget.h"
#include "market/service/attempt_rates.h"
#include "market/service/health.h"
#include "market/service/job_watch.h"
#include "market/service/metrics.h"
#include "market/service/password_pool.h"
#include "market/service/volunteers.h"
#include "market/store/blob_files.h"

namespace remotist::market {

struct Context {
  const Config& config;
  pg::Pool& database;
  // Threads for chunks, with connections of their own: a slow disk must not hold up everything else.
  pg::Pool& chunks;
  const BlobFiles& blob_files;
  PasswordPool& passwords;
  Metrics& metrics;
  Health& health;
  JobWatch& job_watch;
  Volunteers& volunteers;
  AnswerBudget& answer_budget;
  AttemptRates& partial_rates;
  const SigningKey& market_key;
  std::function<void()> wake_publisher;  // call after a commit that wrote to the outbox
};

}  // namespace remotist::market
