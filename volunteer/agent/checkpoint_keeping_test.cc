#include "volunteer/agent/checkpoint_keeping.h"

#include <doctest/doctest.h>

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;

const Time kNow = Time{} + 1h;

CheckpointTaken taken(std::uint64_t number) {
  return {.number = number, .file = "checkpoint-" + std::to_string(number)};
}

CheckpointKeeping::Uploaded some_chunks() {
  return std::make_shared<const UploadedChunks>();
}

}  // namespace

TEST_CASE("a checkpoint is uploaded, then flushed, then recorded, then its file goes") {
  CheckpointKeeping keeping;
  CHECK_FALSE(keeping.busy());
  CHECK_FALSE(keeping.add(taken(1)));
  CHECK(keeping.busy());
  REQUIRE(keeping.begin_upload(kNow));
  CHECK_FALSE(keeping.begin_upload(kNow));
  CHECK_FALSE(keeping.is_flushing(kNow));
  keeping.uploaded(some_chunks());
  CHECK(keeping.is_flushing(kNow));
  CHECK(keeping.begin_recording() == 1);
  CHECK_FALSE(keeping.is_flushing(kNow));
  CHECK(keeping.finish(1) == "checkpoint-1");
  CHECK_FALSE(keeping.busy());
}

TEST_CASE("of those that come during an upload only the newest waits") {
  CheckpointKeeping keeping;
  CHECK_FALSE(keeping.add(taken(1)));
  REQUIRE(keeping.begin_upload(kNow));
  CHECK_FALSE(keeping.add(taken(2)));
  CHECK(keeping.add(taken(3)) == "checkpoint-2");
  CHECK(keeping.current()->number == 1);
  CHECK(keeping.finish(1) == "checkpoint-1");
  REQUIRE(keeping.begin_upload(kNow));
  CHECK(keeping.current()->number == 3);
}

TEST_CASE("one whose upload has not begun is replaced by a newer one") {
  CheckpointKeeping keeping;
  CHECK_FALSE(keeping.add(taken(1)));
  CHECK(keeping.add(taken(2)) == "checkpoint-1");
  CHECK(keeping.begin_upload(kNow)->number == 2);
}

TEST_CASE("a step that failed is tried again after its delay, unless a newer checkpoint waits") {
  CheckpointKeeping keeping;
  CHECK_FALSE(keeping.add(taken(1)));
  REQUIRE(keeping.begin_upload(kNow));
  CHECK_FALSE(keeping.retry(1, true, 2s, kNow));
  CHECK(keeping.failures() == 1);
  CHECK_FALSE(keeping.begin_upload(kNow + 1s));
  CHECK(keeping.due() == kNow + 2s);
  keeping.wake(kNow + 2s);
  CHECK(keeping.due() == Time::max());
  REQUIRE(keeping.begin_upload(kNow + 2s));
  keeping.uploaded(some_chunks());
  CHECK(keeping.begin_recording() == 1);
  CHECK_FALSE(keeping.retry(1, false, 2s, kNow));
  CHECK_FALSE(keeping.is_flushing(kNow + 1s));
  CHECK(keeping.is_flushing(kNow + 2s));
  CHECK(keeping.begin_recording() == 1);
  CHECK_FALSE(keeping.add(taken(2)));
  CHECK(keeping.retry(1, false, 2s, kNow) == "checkpoint-1");
  REQUIRE(keeping.begin_upload(kNow));
  CHECK(keeping.current()->number == 2);
}

TEST_CASE("the market counts the checkpoints that are recorded, whatever numbers the guest gives them") {
  CheckpointKeeping keeping;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    CHECK_FALSE(keeping.add(taken(10 * i)));
    REQUIRE(keeping.begin_upload(kNow));
    keeping.uploaded(some_chunks());
    CHECK(keeping.begin_recording() == i);
    CHECK(keeping.finish(10 * i));
  }
}

TEST_CASE("what is said about a checkpoint that is not on its way any more changes nothing") {
  CheckpointKeeping keeping;
  CHECK_FALSE(keeping.finish(1));
  CHECK_FALSE(keeping.retry(1, true, 1s, kNow));
  CHECK_FALSE(keeping.add(taken(2)));
  REQUIRE(keeping.begin_upload(kNow));
  CHECK_FALSE(keeping.finish(1));
  CHECK_FALSE(keeping.retry(1, true, 1s, kNow));
  CHECK(keeping.is_uploading());
}

}  // namespace remotist::volunteer
