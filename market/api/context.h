// The objects that handlers use. One for the whole market; everything in it is thread-safe and outlives the
// server.
#pragma once

#include <functional>

#include "core/digest.h"
#include "core/pg/pool.h"
#include "market/config.h"
#include "market/service/answer_budget.h"
#include "market/service/attempt_rates.h"
#include "market/service/health.h"
#include "market/service/long_poll.h"
#include "market/service/metrics.h"
#include "market/service/password_pool.h"
#include "market/service/volunteers.h"
#include "market/store/blob_files.h"

namespace remotist::market {

struct Context {
  const Config& config;
  pg::Pool& database;
  // Threads for chunks, with their own connections: a slow disc must not delay other requests.
  pg::Pool& chunks;
  const BlobFiles& blob_files;
  PasswordPool& passwords;
  Metrics& metrics;
  Health& health;
  LongPoll& long_poll;
  Volunteers& volunteers;
  AnswerBudget& answer_budget;
  AttemptRates& record_rates;
  const SigningKey& market_key;
  std::function<void()> wake_publisher;  // call after a commit that wrote to the outbox
};

}  // namespace remotist::market
