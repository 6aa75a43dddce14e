#include "market/service/checks.h"

#include <doctest/doctest.h>

#include "core/limits.h"

using namespace remotist;
using namespace remotist::market;

TEST_CASE("an e-mail address has one @ with something on either side and nothing blank") {
  for (const char* good : {"a@b", "ana.silva+r@example.org", "ü@example.org"}) CHECK(check_email(good).ok());
  for (const char* bad : {"", "@", "a@", "@b", "ab", "a@b@c", "a b@c", "a@b\n", "a\t@b"}) {
    CAPTURE(bad);
    REQUIRE_FALSE(check_email(bad).ok());
    CHECK(check_email(bad).refusal().field == "email");
  }
}

TEST_CASE("e-mail and password are accepted at their limits and refused one past them") {
  const auto email = [](std::size_t bytes) { return std::string(bytes - 2, 'a') + "@b"; };
  CHECK(check_email(email(limits::kEmailBytesMax)).ok());
  CHECK_FALSE(check_email(email(limits::kEmailBytesMax + 1)).ok());
  for (const auto& [bytes, right] :
       std::initializer_list<std::pair<std::size_t, bool>>{{limits::kPasswordBytesMin - 1, false},
                                                           {limits::kPasswordBytesMin, true},
                                                           {limits::kPasswordBytesMax, true},
                                                           {limits::kPasswordBytesMax + 1, false}}) {
    CAPTURE(bytes);
    CHECK(check_password(std::string(bytes, 'x')).ok() == right);
  }
}
