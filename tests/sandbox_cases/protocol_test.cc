#include <doctest/doctest.h>

#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that sends garbage ends alone") {
  const auto seen = check_contained("garbage");
  INFO("REMOTIST_TEST_SEED is in what it tried: " << seen.log);
  CHECK(seen.verdict.ending != Ending::sandbox_failure);
}

TEST_CASE("a guest that sends descriptors leaves none with the host") {
  check_contained("sent_descriptors");
}

TEST_CASE("a guest that closes its socket ends once") {
  check_contained("closed_socket");
}

TEST_CASE("a guest that tears a frame ends once") {
  check_contained("torn_frame");
}

TEST_CASE("a guest that announces a huge frame ends once") {
  check_contained("huge_frame");
}

TEST_CASE("a guest that puts a link where its result belongs has not completed") {
  const auto seen = check_contained("forged_result");
  CHECK(seen.verdict.message.contains("no result"));
}

TEST_CASE("a guest that forges the runner's words is not believed about having run") {
  const auto seen = check_contained("forged_frames");
  CHECK(seen.verdict.ending != Ending::sandbox_failure);
  for (const auto& progress : seen.progress) CHECK((progress.fraction >= 0 && progress.fraction <= 1));
}

TEST_CASE("a guest that says twice that it has ended ends once, and is not heard after it") {
  const auto seen = check_contained("forged_end");
  for (const auto& progress : seen.progress) CHECK(progress.message != "after the end");
  CHECK(seen.verdict.message != "after the end");
}

TEST_CASE("a guest whose orphan goes on talking has ended once, and is not heard after it") {
  CHECK(check_contained("late_frames").progress.size() < 100);
}

TEST_CASE("a guest that floods the host with frames ends alone, and few are heard") {
  const auto seen = check_contained("flood");
  CHECK(seen.progress.size() < 2000);
}

TEST_CASE("progress that is none is not reported") {
  const auto seen = check_contained("odd_progress");
  for (const auto& progress : seen.progress) {
    CHECK((progress.fraction >= 0 && progress.fraction <= 1));
    CHECK(progress.message.size() < 10'000);
  }
}

TEST_CASE("the guest beside those that lie to the host gives the right answer") {
  check_neighbour();
}

}  // namespace remotist::volunteer::cases
