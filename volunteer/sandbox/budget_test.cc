#include "volunteer/sandbox/budget.h"

#include <doctest/doctest.h>

using namespace remotist::volunteer;
using std::chrono::milliseconds;

TEST_CASE("a budget holds a burst, then so much in a second") {
  const Budget::Time begin{};
  Budget budget{10, 3, begin};
  CHECK(budget.take(1, begin));
  CHECK(budget.take(2, begin));
  CHECK_FALSE(budget.take(1, begin));
  CHECK_FALSE(budget.take(1, begin + milliseconds(99)));
  CHECK(budget.take(1, begin + milliseconds(101)));
  CHECK(budget.take(3, begin + milliseconds(100'000)));
  CHECK_FALSE(budget.take(0.5, begin + milliseconds(100'000)));
}

TEST_CASE("what is charged beyond it is a debt that time pays off") {
  const Budget::Time begin{};
  Budget budget{10, 3, begin};
  budget.charge(3, begin);
  CHECK_FALSE(budget.in_debt(begin));
  budget.charge(2, begin);
  CHECK(budget.in_debt(begin + milliseconds(150)));
  CHECK_FALSE(budget.in_debt(begin + milliseconds(201)));
}

TEST_CASE("a clock that goes back gives nothing") {
  const Budget::Time begin = Budget::Time{} + milliseconds(1000);
  Budget budget{1000, 1, begin};
  CHECK(budget.take(1, begin));
  CHECK_FALSE(budget.take(1, begin - milliseconds(500)));
}
