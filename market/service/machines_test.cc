#include "market/service/machines.h"

#include <doctest/doctest.h>

#include "core/json.h"

using namespace remotist;
using namespace remotist::market;

TEST_CASE("a statement can be checked by whoever has the market's public key, and by no other key") {
  const SigningKey market{std::string(SigningKey::kSeedBytes, 'm')};
  const MachineStatement said{MachineId::make(), AccountId::make(), std::string(32, 'p'),
                              "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"};
  const std::string text = signed_statement(market, said);
  const auto dot = text.find('.');
  REQUIRE(dot != std::string::npos);
  const std::string first = text.substr(0, dot);
  const auto signature = bytes_of_base64url(text.substr(dot + 1), 64);
  REQUIRE(signature.has_value());
  const std::string message = std::string{kStatementContext} + first;
  CHECK(signature_is_right(market.public_key(), message, *signature));
  CHECK_FALSE(signature_is_right(market.public_key(), first, *signature));  // not without its context
  CHECK_FALSE(signature_is_right(SigningKey{std::string(32, 'x')}.public_key(), message, *signature));
  const auto document = nlohmann::json::parse(bytes_of_base64url(first, first.size() * 3 / 4).value());
  CHECK(document["machine"] == said.machine.text());
  CHECK(document["account"] == said.account.text());
  CHECK(document["public_key"] == base64url_of(said.public_key));
  CHECK(document["expires_at"] == said.expires_at);
  CHECK(document["signed_by"] == base64url_of(market.public_key()));
}
