#include "market/service/answer_budget.h"

#include <doctest/doctest.h>

#include "market/service/attempt_rates.h"

using namespace remotist;
using namespace remotist::market;

TEST_CASE("answers up to the budget are taken on, of one address and of all; what was read makes room") {
  AnswerBudget budget{100, 40};
  auto first = budget.try_reserve("a", 30);
  CHECK(first);
  auto second = budget.try_reserve("a", 10);
  CHECK(second);
  CHECK_FALSE(budget.try_reserve("a", 1));
  auto other = budget.try_reserve("b", 40);
  CHECK(other);
  CHECK_FALSE(budget.try_reserve("c", 21));
  auto last = budget.try_reserve("c", 20);
  CHECK(last);
  CHECK(budget.reserved() == 100);
  first.reset();
  CHECK(budget.reserved() == 70);
  CHECK(budget.try_reserve("a", 5));
}

TEST_CASE("the last quarter is for addresses that hold nothing yet") {
  AnswerBudget budget{100, 60};
  const auto first = budget.try_reserve("a", 40);
  const auto second = budget.try_reserve("b", 30);
  CHECK_FALSE(budget.try_reserve("a", 6));
  const auto third = budget.try_reserve("a", 5);
  CHECK(third);
  const auto other = budget.try_reserve("c", 25);
  CHECK(other);
}

TEST_CASE("an answer that is larger than the budget is taken on when nothing else waits") {
  AnswerBudget budget{100, 40};
  auto large = budget.try_reserve("a", 1000);
  CHECK(large);
  CHECK_FALSE(budget.try_reserve("b", 1));
  large.reset();
  CHECK(budget.try_reserve("b", 1));
}

TEST_CASE("an attempt brings as many records over REST as it may, one more waits, and another's go on") {
  constexpr auto kMax =
      static_cast<std::size_t>(limits::kAttemptRecordsPerSecondMax * limits::kAttemptRecordsBurstSeconds);
  AttemptRates rates;
  const auto now = TokenBucket::Clock::now();
  const protocol::AttemptName one{JobId::make(), 1};
  CHECK(rates.may_record(one, kMax, 0, now));
  CHECK_FALSE(rates.may_record(one, 1, 0, now));
  CHECK(rates.may_record({one.job, 2}, 1, 0, now));
  CHECK(rates.may_record(one, 1, 0, now + std::chrono::milliseconds{2}));
  constexpr auto kBytes =
      static_cast<std::size_t>(limits::kAttemptRecordBytesPerSecondMax * limits::kAttemptRecordsBurstSeconds);
  const protocol::AttemptName bytes{JobId::make(), 1};
  CHECK(rates.may_record(bytes, 1, kBytes, now));
  CHECK_FALSE(rates.may_record(bytes, 1, 1, now));
}
