#include "market/config.h"

#include <doctest/doctest.h>

using namespace remotist;

namespace {

std::vector<std::string> mistakes_in(ConfigReader::Values values) {
  values.emplace("REMOTIST_MARKET_DATABASE_URL", "postgresql:///x");
  std::vector<std::string> mistakes;
  (void)market::read_config(std::move(values), mistakes);
  return mistakes;
}

}  // namespace

TEST_CASE("the market listens on other than loopback only behind a TLS proxy") {
  CHECK(mistakes_in({}).empty());
  CHECK(mistakes_in({{"REMOTIST_MARKET_LISTEN_ADDRESS", "0.0.0.0"}}).size() == 1);
  CHECK(mistakes_in(
            {{"REMOTIST_MARKET_LISTEN_ADDRESS", "0.0.0.0"}, {"REMOTIST_MARKET_BEHIND_TLS_PROXY", "true"}})
            .empty());
}

TEST_CASE("settings of other programs are no mistake, misspelt ones of the market are") {
  CHECK(mistakes_in({{"REMOTIST_URL", "http://localhost"}}).empty());
  CHECK(mistakes_in({{"REMOTIST_MARKET_LISTEN_PROT", "80"}}).size() == 1);
}
