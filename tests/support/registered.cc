#include "tests/support/registered.h"

#include <doctest/doctest.h>

#include "core/digest.h"

namespace remotist::test {

std::string fresh_email() {
  return hex_of(random_bytes(8)) + "@example.org";
}

std::string registered_token(Http& http) {
  const nlohmann::json credentials{{"email", fresh_email()}, {"password", "long enough"}};
  REQUIRE(http.send("POST", "/user/register", credentials).status == 201);
  const auto login = http.send("POST", "/user/login", credentials);
  REQUIRE(login.status == 200);
  return login.json()["token"];
}

}  // namespace remotist::test
