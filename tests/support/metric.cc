#include "tests/support/metric.h"

#include <doctest/doctest.h>

#include "tests/support/http.h"

namespace remotist::test {

double metric_at(const std::string& market_url, const std::string& name) {
  const std::string text = Http{market_url}.get("/metrics").body;
  const std::string line = "\n" + name + " ";
  const auto at = text.find(line);
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + line.size()));
}

}  // namespace remotist::test
