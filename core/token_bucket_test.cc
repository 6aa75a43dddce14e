#include "core/token_bucket.h"

#include <doctest/doctest.h>

using remotist::TokenBucket;
using namespace std::chrono_literals;

TEST_CASE("a token bucket holds a burst, then refills at its rate up to the burst") {
  const TokenBucket::Time begin{};
  TokenBucket bucket{10, 3, begin};
  CHECK(bucket.try_take(1, begin));
  CHECK(bucket.try_take(2, begin));
  CHECK_FALSE(bucket.try_take(1, begin));
  CHECK_FALSE(bucket.try_take(1, begin + 99ms));
  CHECK(bucket.try_take(1, begin + 101ms));
  CHECK_FALSE(bucket.has(3.5, begin + 100s));
  CHECK(bucket.try_take(3, begin + 100s));
  CHECK_FALSE(bucket.try_take(0.5, begin + 100s));
}

TEST_CASE("has() removes no tokens from a bucket") {
  const TokenBucket::Time begin{};
  TokenBucket bucket{10, 50, begin};
  CHECK_FALSE(bucket.has(51, begin));
  CHECK(bucket.has(50, begin));
  CHECK(bucket.has(50, begin));
}

TEST_CASE("a charge beyond the tokens of a bucket is a debt that the rate pays off") {
  const TokenBucket::Time begin{};
  TokenBucket bucket{10, 3, begin};
  bucket.charge(3, begin);
  CHECK_FALSE(bucket.in_debt(begin));
  bucket.charge(2, begin);
  CHECK(bucket.in_debt(begin + 150ms));
  CHECK_FALSE(bucket.in_debt(begin + 201ms));
}

TEST_CASE("a token bucket tells when it has enough again, and has enough then and not before") {
  const TokenBucket::Time begin{};
  TokenBucket bucket{4e6, 16e6, begin};
  CHECK(bucket.available_at(1, begin) == begin);
  bucket.charge(100e6, begin);
  const auto at = bucket.available_at(0, begin);
  CHECK(at > begin + 20'900ms);
  CHECK(at < begin + 21'100ms);
  CHECK_FALSE(bucket.has(0, at - 10us));
  CHECK(bucket.has(0, at));
}

TEST_CASE("a clock that goes back adds no tokens to a bucket") {
  const TokenBucket::Time begin = TokenBucket::Time{} + 1s;
  TokenBucket bucket{1000, 1, begin};
  CHECK(bucket.try_take(1, begin));
  CHECK_FALSE(bucket.try_take(1, begin - 500ms));
  CHECK_FALSE(bucket.try_take(1, begin));
}
