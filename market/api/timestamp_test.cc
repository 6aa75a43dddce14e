#include "market/api/timestamp.h"

#include <doctest/doctest.h>

using namespace remotist::market;

TEST_CASE("a timestamp is a day, a time and a Z, and nothing else is one") {
  for (const char* good : {"2026-02-01T00:00:00Z", "2024-02-29T23:59:59.1Z", "0001-01-01T00:00:00.123456Z"}) {
    CAPTURE(good);
    CHECK(timestamp_of(good) == good);
  }
  for (const char* bad : {"",
                          "Z",
                          "now",
                          "2026-02-01",
                          "2026-02-01T00:00:00",
                          "2026-02-01 00:00:00Z",
                          "2026-02-29T00:00:00Z",
                          "2026-13-01T00:00:00Z",
                          "2026-00-01T00:00:00Z",
                          "2026-01-01T24:00:00Z",
                          "2026-01-01T00:60:00Z",
                          "2026-01-01T00:00:60Z",
                          "2026-01-01T00:00:00.Z",
                          "2026-01-01T00:00:00.1234567Z",
                          "2026-01-01T00:00:00,1Z",
                          "2026-01-01T00:00:00.1xZ",
                          "2026-01-01T00:00:00+00:00",
                          "0000-01-01T00:00:00Z",
                          "-026-01-01T00:00:00Z",
                          "2026-01-01T00:00:00Z'",
                          "infinity"}) {
    CAPTURE(bad);
    CHECK_FALSE(timestamp_of(bad));
  }
}
