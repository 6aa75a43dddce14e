// Counters of what may be done only so often, in the database, so that all markets count together.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/pg/session.h"

namespace remotist::market {

// What is counted, in any case: "login:address:192.0.2.1". Counting begins with the first and ends, with all,
// when `within` has passed since.
struct Rate {
  std::string name;
  std::int64_t most;
  std::chrono::seconds within;
};

// Whether one of them is used up. Without a lock: for refusing cheaply what count() would refuse.
bool is_used_up(pg::Session& db, const std::vector<Rate>& rates);
// Counts one more of each. False when one of them is used up: the caller must then end its transaction with a
// refusal, so that none is counted. Of those who come at once it lets as many pass as one after the other.
[[nodiscard]] bool count(pg::Session& db, const std::vector<Rate>& rates);
// One less of each.
void uncount(pg::Session& db, const std::vector<Rate>& rates);
// As if it had never been counted.
void forget_rate(pg::Session& db, const Rate& rate);
// Those whose time is over.
void forget_old_rates(pg::Session& db);

}  // namespace remotist::market
