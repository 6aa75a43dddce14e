#include "volunteer/agent/upload_pace.h"

#include <doctest/doctest.h>
#include <thread>

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;

const std::atomic<bool> kRunning{false};

}  // namespace

TEST_CASE("what fits the burst is sent at once, and what follows waits at the rate") {
  constexpr double kRate = 10'000;
  UploadPace pace{kRate};
  UploadControl control;
  const auto began = Clock::now();
  CHECK(pace.wait(static_cast<std::size_t>(kRate), control, kRunning));
  CHECK(pace.wait(1'000, control, kRunning));  // makes a debt of a tenth of a second
  CHECK(pace.wait(1, control, kRunning));
  CHECK(Clock::now() - began >= 90ms);
}

TEST_CASE("an upload that is hurried does not wait, and one that is cancelled ends, also while it waits") {
  UploadPace pace{1};
  UploadControl control;
  CHECK(pace.wait(1'000'000, control, kRunning));  // a debt of eleven days
  SUBCASE("hurried") {
    std::thread other{[&] {
      control.hurried = true;
      pace.wake();
    }};
    CHECK(pace.wait(1, control, kRunning));
    other.join();
  }
  SUBCASE("cancelled") {
    std::thread other{[&] {
      control.cancelled = true;
      pace.wake();
    }};
    CHECK_FALSE(pace.wait(1, control, kRunning));
    other.join();
  }
  SUBCASE("the agent stops") {
    std::atomic<bool> stopping{false};
    std::thread other{[&] {
      stopping = true;
      pace.wake();
    }};
    CHECK_FALSE(pace.wait(1, control, stopping));
    other.join();
  }
}

}  // namespace remotist::volunteer
