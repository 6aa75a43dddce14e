#include "market/service/passwords.h"

#include <doctest/doctest.h>

using namespace remotist::market;

TEST_CASE("a password matches its own hash alone, and two hashes of it differ") {
  const std::string hash = hash_password("correct horse");
  CHECK(password_matches("correct horse", hash));
  CHECK_FALSE(password_matches("correct hors", hash));
  CHECK_FALSE(password_matches("correct horse", ""));
  CHECK_FALSE(password_matches("correct horse", "not a hash"));
  CHECK(hash_password("correct horse") != hash);
}
