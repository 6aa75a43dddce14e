#include "core/amqp/backoff.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

namespace remotist::amqp {

using std::chrono::milliseconds;

TEST_CASE("pauses double up to the most, each between half its step and the whole") {
  Backoff backoff{{milliseconds{100}, milliseconds{5000}}, 1};
  for (int round = 0; round < 2; ++round) {
    milliseconds step{100};
    for (int i = 0; i < 20; ++i) {
      const auto pause = backoff.next();
      CHECK(pause >= step / 2);
      CHECK(pause <= step);
      step = std::min(step * 2, milliseconds{5000});
    }
    backoff.reset();
  }
}

TEST_CASE("two clients that lost the same broker do not come back in step") {
  Backoff one{{milliseconds{1000}, milliseconds{1000}}, 1};
  Backoff other{{milliseconds{1000}, milliseconds{1000}}, 2};
  std::set<milliseconds> pauses;
  for (int i = 0; i < 10; ++i) pauses.insert({one.next(), other.next()});
  CHECK(pauses.size() > 10);
}

}  // namespace remotist::amqp
