#include "volunteer/agent/checkpoint_schedule.h"

#include <cmath>
#include <doctest/doctest.h>

#include "core/checkpoint_schedule.h"
#include "core/limits.h"

namespace remotist::volunteer {

using namespace std::chrono_literals;
using Request = CheckpointSchedule::Request;

namespace {

constexpr std::int64_t kDayMs = 86'400'000;
const Time kBegan = Time{} + 1h;
constexpr std::chrono::seconds kFirst{limits::kCheckpointIntervalSecondsFirst};

CheckpointSchedule began(std::int64_t loss_ms_mean = kDayMs, std::int64_t cpu_cores = 1) {
  CheckpointSchedule schedule{loss_ms_mean, cpu_cores};
  schedule.began(kBegan);
  return schedule;
}

}  // namespace

TEST_CASE("a guest is asked for its first checkpoint after the first interval, and never before it runs") {
  CheckpointSchedule schedule{kDayMs, 1};
  CHECK(schedule.due(false) == Time::max());
  CHECK(schedule.take_request(false, kBegan + 1h) == Request::none);
  schedule.began(kBegan);
  CHECK(schedule.due(false) == kBegan + kFirst);
  CHECK(schedule.take_request(false, kBegan + kFirst - 1ms) == Request::none);
  CHECK(schedule.take_request(false, kBegan + kFirst) == Request::usual);
  CHECK(schedule.take_request(false, kBegan + kFirst) == Request::none);
}

TEST_CASE("the interval is Daly's for the pause and the writer's share of the job's cores") {
  for (const std::int64_t cores : {1, 4}) {
    CAPTURE(cores);
    auto schedule = began(kDayMs, cores);
    const Time now = kBegan + kFirst;
    schedule.taken(50, 400, now);
    const auto cost = 50 + 400 / cores;
    CHECK(schedule.interval_ms() == checkpoint_interval_ms(cost, kDayMs));
    CHECK(schedule.due(false) == now + std::chrono::milliseconds{schedule.interval_ms()});
  }
}

TEST_CASE("newer checkpoints count more in the cost, and a costlier one makes the interval longer") {
  auto schedule = began();
  schedule.taken(100, 0, kBegan);
  const auto first = schedule.interval_ms();
  schedule.taken(1000, 0, kBegan);
  CHECK(schedule.interval_ms() == checkpoint_interval_ms(550, kDayMs));
  CHECK(schedule.interval_ms() > first);
}

TEST_CASE("whatever a guest says about the cost, the interval stays within its bounds") {
  for (const double said : {-1.0, 0.0, 1e300, -1e300, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CAPTURE(said);
    auto schedule = began();
    schedule.taken(said, said, kBegan);
    CHECK(schedule.interval_ms() >= limits::kCheckpointIntervalSecondsMin * 1000);
    CHECK(schedule.interval_ms() <= limits::kCheckpointIntervalSecondsMax * 1000);
  }
}

TEST_CASE("an unknown time between losses counts as a day") {
  auto known = began(std::chrono::milliseconds{CheckpointSchedule::kLossMean}.count());
  auto unknown = began(0);
  known.taken(100, 0, kBegan);
  unknown.taken(100, 0, kBegan);
  CHECK(known.interval_ms() == unknown.interval_ms());
}

TEST_CASE("while a checkpoint is on its way to the market no other is asked for") {
  auto schedule = began();
  const Time now = kBegan + kFirst;
  CHECK(schedule.due(true) == Time::max());
  CHECK(schedule.take_request(true, now + 1h) == Request::none);
  CHECK(schedule.take_request(false, now + 1h) == Request::usual);
}

TEST_CASE("what is urgent is asked for at once, also while an earlier checkpoint is on its way") {
  auto schedule = began();
  schedule.ask_now();
  CHECK(schedule.due(true) <= kBegan);
  CHECK(schedule.take_request(true, kBegan) == Request::usual);
  CHECK(schedule.take_request(true, kBegan) == Request::none);
}

TEST_CASE("a full checkpoint is asked for until there is one") {
  auto schedule = began();
  schedule.ask_full();
  CHECK(schedule.take_request(false, kBegan) == Request::full);
  const Time again = kBegan + CheckpointSchedule::kAskAgain;
  CHECK(schedule.take_request(false, again) == Request::full);
  schedule.taken(1, 1, again);
  CHECK(schedule.take_request(false, again + 2h) == Request::usual);
}

TEST_CASE("a guest that does not answer is asked again, and after a named time the owner is told why") {
  auto schedule = began();
  Time now = kBegan + kFirst;
  CHECK(schedule.take_request(false, now) == Request::usual);
  CHECK(schedule.due(false) == now + CheckpointSchedule::kAskAgain);
  const Time problem_at = now + CheckpointSchedule::kProblemAfter;
  while (now + CheckpointSchedule::kAskAgain < problem_at) {
    now += CheckpointSchedule::kAskAgain;
    schedule.wake(now);
    CHECK(schedule.take_request(false, now) == Request::usual);
    CHECK(schedule.problem().empty());
  }
  schedule.refused("within optim()");
  schedule.wake(problem_at - 1ms);
  CHECK(schedule.problem().empty());
  CHECK(schedule.due(true) == problem_at);
  schedule.wake(problem_at);
  CHECK(schedule.problem() == "within optim()");
  CHECK(schedule.due(true) == Time::max());
  schedule.taken(1, 1, problem_at);
  CHECK(schedule.problem().empty());
}

TEST_CASE("a script that reaches no safe point is a problem, too") {
  auto schedule = began();
  CHECK(schedule.take_request(false, kBegan + kFirst) == Request::usual);
  schedule.wake(kBegan + 1h);
  CHECK_FALSE(schedule.problem().empty());
}

TEST_CASE("a script that runs without the engine is never asked, and its owner is told why") {
  auto schedule = began();
  CHECK(schedule.is_possible());
  schedule.impossible("it has a syntax error");
  CHECK_FALSE(schedule.is_possible());
  CHECK(schedule.problem() == "it has a syntax error");
  schedule.ask_now();
  CHECK(schedule.due(false) == Time::max());
  CHECK(schedule.take_request(false, kBegan + 1h) == Request::none);
  schedule.began(kBegan);
  CHECK_FALSE(schedule.is_possible());
}

TEST_CASE("nothing is asked of a run that has ended") {
  auto schedule = began();
  schedule.ended();
  CHECK(schedule.due(false) == Time::max());
  CHECK(schedule.take_request(false, kBegan + 1h) == Request::none);
}

}  // namespace remotist::volunteer
