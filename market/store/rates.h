// Rate counters in the database, shared by all markets.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/pg/connection.h"

namespace remotist::market {

// A named counter, such as "login:address:192.0.2.1" (not case-sensitive), and its limit. It starts with the
// first event and resets when `within` has passed since.
struct Rate {
  std::string name;
  std::int64_t most;
  std::chrono::seconds within;
};

// Whether a limit is reached. Takes no lock: a cheap check before count().
bool is_used_up(pg::Connection& db, const std::vector<Rate>& rates);
// Increments each counter. False when a limit is reached: the caller must then roll back, so that none is
// incremented. Concurrent calls are limited exactly.
[[nodiscard]] bool count(pg::Connection& db, const std::vector<Rate>& rates);
// Decrements each counter.
void uncount(pg::Connection& db, const std::vector<Rate>& rates);
// Sets the counter to zero.
void reset_rate(pg::Connection& db, const Rate& rate);
// Deletes expired counters.
void delete_old_rates(pg::Connection& db);

}  // namespace remotist::market
