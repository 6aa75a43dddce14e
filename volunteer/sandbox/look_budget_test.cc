#include "volunteer/sandbox/look_budget.h"

#include <doctest/doctest.h>
#include <map>

using namespace remotist::volunteer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Guests = std::vector<std::uint32_t>;

namespace {

// A thread that looks at guests each 50 ms, with a clock that only the looks move.
struct Thread {
  explicit Thread(std::map<std::uint32_t, milliseconds> of) : costs{std::move(of)} {}

  void run_until(LookBudget::Time end) {
    while (now < end) {
      tick();
      now += milliseconds(50);
    }
  }
  void tick() {
    Guests all;
    for (const auto& [guest, cost] : costs) all.push_back(guest);
    for (const auto guest : budget.in_turn(all)) {
      if (!budget.left(now)) {
        budget.stopped_at(guest);
        return;
      }
      now += costs.at(guest);
      looking += costs.at(guest);
      ++looks[guest];
      budget.spend(costs.at(guest), now);
    }
  }

  std::map<std::uint32_t, milliseconds> costs;
  LookBudget::Time now{};
  LookBudget budget{now};
  milliseconds looking{};
  std::map<std::uint32_t, int> looks;
};

}  // namespace

TEST_CASE("guests whose looks cost little are all looked at each time") {
  Thread thread{{{1, milliseconds(1)}, {5, milliseconds(1)}, {9, milliseconds(1)}}};
  thread.run_until(LookBudget::Time{} + seconds(10));
  CHECK(thread.looks[1] == thread.looks[9]);
  CHECK(thread.looks[5] > 150);
}

TEST_CASE("however many guests cost however much, looks take a fifth of the time and everybody has a turn") {
  std::map<std::uint32_t, milliseconds> costs;
  for (std::uint32_t guest = 1; guest <= 16; ++guest) costs[guest] = milliseconds(300);
  costs[17] = milliseconds(1);
  Thread thread{costs};
  thread.run_until(LookBudget::Time{} + seconds(600));
  const auto all = thread.now - LookBudget::Time{};
  CHECK(thread.looking <= all / 5 + milliseconds(400));
  CHECK(thread.looking >= all / 6);
  int least = thread.looks[1];
  int most = thread.looks[1];
  for (const auto& [guest, looks] : thread.looks) {
    least = std::min(least, looks);
    most = std::max(most, looks);
  }
  CHECK(least > 10);
  CHECK(most - least <= 1);
}

TEST_CASE("the turn goes on where it stopped, also when that guest is gone") {
  LookBudget budget{LookBudget::Time{}};
  CHECK(budget.in_turn({3, 1, 2}) == Guests{1, 2, 3});
  budget.stopped_at(2);
  CHECK(budget.in_turn({3, 1, 2}) == Guests{2, 3, 1});
  CHECK(budget.in_turn({3, 1}) == Guests{3, 1});
  CHECK(budget.in_turn({1}) == Guests{1});
  CHECK(budget.in_turn({}).empty());
}

TEST_CASE("a look that took longer than there was is made up for") {
  const LookBudget::Time begin{};
  LookBudget budget{begin};
  CHECK(budget.left(begin));
  budget.spend(seconds(1), begin);
  CHECK_FALSE(budget.left(begin + milliseconds(4400)));
  CHECK(budget.left(begin + milliseconds(4600)));
}
