#include "volunteer/runner/watch/record_budget.h"

#include <doctest/doctest.h>

namespace remotist::volunteer {

TEST_CASE("a token bucket gives its burst at once and then its rate") {
  RecordBudget records{120, 256, 1};
  int given = 0;
  while (records.ready(0)) {
    records.spend(1, 0);
    ++given;
  }
  CHECK(given == 256);
  for (std::int64_t now = 0; now <= 1'000'000; now += 1'000) {
    if (!records.ready(now)) continue;
    records.spend(1, now);
    ++given;
  }
  CHECK(given >= 256 + 119);
  CHECK(given <= 256 + 121);
}

TEST_CASE("an overdrawn token bucket says when it is ready again, and is ready then and not before") {
  RecordBudget bytes{4e6, 16e6, 0};
  CHECK(bytes.ready(0));
  bytes.spend(100e6, 0);
  const auto when = bytes.ready_at(0);
  CHECK(when > 20'900'000);
  CHECK(when < 21'100'000);
  CHECK_FALSE(bytes.ready(when - 10));
  CHECK(bytes.ready(when));
}

}  // namespace remotist::volunteer
