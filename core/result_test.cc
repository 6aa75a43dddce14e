#include "core/result.h"

#include <doctest/doctest.h>
#include <memory>

using namespace remotist;

TEST_CASE("a result holds a value or a refusal") {
  const Result<int> good = 7;
  CHECK(good.ok());
  CHECK(*good == 7);

  const Result<int> bad = refuse(Code::not_found, "no such job", "id");
  CHECK_FALSE(bad);
  CHECK(bad.refusal().code == Code::not_found);
  CHECK(bad.refusal().field == "id");
}

TEST_CASE("a result carries what can only be moved") {
  Result<std::unique_ptr<int>> held = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = std::move(held).value();
  CHECK(*taken == 3);
}

TEST_CASE("a result without a value is either done or refused") {
  CHECK(Result<void>{}.ok());
  CHECK_FALSE(Result<void>{refuse(Code::busy, "later")}.ok());
}
