#include "bench/agent_load/durations.h"

#include <doctest/doctest.h>

namespace remotist::bench {

using namespace std::chrono_literals;

TEST_CASE("without durations every quantile is 0") {
  CHECK(Durations{}.quantile_ms(0.5) == 0);
}

TEST_CASE("a quantile is never too small, and at most 1.6 % and a microsecond too large") {
  for (const std::int64_t us :
       {0L, 1L, 63L, 64L, 127L, 128L, 129L, 1000L, 65'535L, 65'536L, 1'234'567L, 3'599'999'999L}) {
    Durations durations;
    durations.add(std::chrono::microseconds{us});
    const double got = durations.quantile_ms(0.5) * 1000;
    CAPTURE(us);
    CHECK(got > static_cast<double>(us));
    CHECK(got <= static_cast<double>(us) * 1.016 + 1);
  }
}

TEST_CASE("quantiles are those of what was added") {
  Durations durations;
  for (int i = 1; i <= 1000; ++i) durations.add(i * 1ms);
  CHECK(durations.count() == 1000);
  CHECK(durations.quantile_ms(0.5) == doctest::Approx(500).epsilon(0.02));
  CHECK(durations.quantile_ms(0.99) == doctest::Approx(990).epsilon(0.02));
  CHECK(durations.quantile_ms(1) == doctest::Approx(1000).epsilon(0.02));
  CHECK(durations.quantile_ms(0) <= 1.02);
}

TEST_CASE("what is negative or beyond an hour is counted at the edge") {
  Durations durations;
  durations.add(-1s);
  durations.add(100h);
  CHECK(durations.quantile_ms(0.5) < 1);
  CHECK(durations.quantile_ms(1) == doctest::Approx(3'600'000).epsilon(0.02));
}

}  // namespace remotist::bench
