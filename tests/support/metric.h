// What a market says of itself in /metrics.
#pragma once

#include <string>

namespace remotist::test {

// The value of a gauge without labels; fails the test case when the market at this URL does not show it.
double metric_at(const std::string& market_url, const std::string& name);

}  // namespace remotist::test
