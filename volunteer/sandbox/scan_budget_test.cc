#include "volunteer/sandbox/scan_budget.h"

#include <doctest/doctest.h>
#include <map>

using namespace remotist::volunteer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Guests = std::vector<std::uint32_t>;

namespace {

// A thread that scans at guests each 50 ms, with a clock that only the scans move.
struct Thread {
  explicit Thread(std::map<std::uint32_t, milliseconds> of) : costs{std::move(of)} {}

  void run_until(ScanBudget::Time end) {
    while (now < end) {
      tick();
      now += milliseconds(50);
    }
  }
  void tick() {
    Guests all;
    for (const auto& [guest, cost] : costs) all.push_back(guest);
    for (const auto guest : budget.in_turn(all)) {
      if (!budget.has_time(now)) {
        budget.stopped_at(guest);
        return;
      }
      now += costs.at(guest);
      scanning += costs.at(guest);
      ++scans[guest];
      budget.charge(costs.at(guest), now);
    }
  }

  std::map<std::uint32_t, milliseconds> costs;
  ScanBudget::Time now{};
  ScanBudget budget{now};
  milliseconds scanning{};
  std::map<std::uint32_t, int> scans;
};

}  // namespace

TEST_CASE("guests whose scans cost little are all scanned every time") {
  Thread thread{{{1, milliseconds(1)}, {5, milliseconds(1)}, {9, milliseconds(1)}}};
  thread.run_until(ScanBudget::Time{} + seconds(10));
  CHECK(thread.scans[1] == thread.scans[9]);
  CHECK(thread.scans[5] > 150);
}

TEST_CASE(
    "scans take at most a fifth of the time, however many guests and whatever they cost, and every guest is "
    "scanned") {
  std::map<std::uint32_t, milliseconds> costs;
  for (std::uint32_t guest = 1; guest <= 16; ++guest) costs[guest] = milliseconds(300);
  costs[17] = milliseconds(1);
  Thread thread{costs};
  thread.run_until(ScanBudget::Time{} + seconds(600));
  const auto all = thread.now - ScanBudget::Time{};
  CHECK(thread.scanning <= all / 5 + milliseconds(400));
  CHECK(thread.scanning >= all / 6);
  int least = thread.scans[1];
  int most = thread.scans[1];
  for (const auto& [guest, scans] : thread.scans) {
    least = std::min(least, scans);
    most = std::max(most, scans);
  }
  CHECK(least > 10);
  CHECK(most - least <= 1);
}

TEST_CASE("the next turn begins where the last one stopped, also when that guest is gone") {
  ScanBudget budget{ScanBudget::Time{}};
  CHECK(budget.in_turn({3, 1, 2}) == Guests{1, 2, 3});
  budget.stopped_at(2);
  CHECK(budget.in_turn({3, 1, 2}) == Guests{2, 3, 1});
  CHECK(budget.in_turn({3, 1}) == Guests{3, 1});
  CHECK(budget.in_turn({1}) == Guests{1});
  CHECK(budget.in_turn({}).empty());
}

TEST_CASE("a scan that overran the budget delays the next") {
  const ScanBudget::Time begin{};
  ScanBudget budget{begin};
  CHECK(budget.has_time(begin));
  budget.charge(seconds(1), begin);
  CHECK_FALSE(budget.has_time(begin + milliseconds(4400)));
  CHECK(budget.has_time(begin + milliseconds(4600)));
}
