#include <doctest/doctest.h>

#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that misbehaves in no way completes") {
  holds("plain");
}

TEST_CASE("a guest that works with children completes") {
  holds("children");
}

TEST_CASE("a guest that asks a person is not waited for") {
  holds("read_line");
}

TEST_CASE("a guest that draws without a device completes") {
  holds("plot");
}

TEST_CASE("a guest whose last word fails completes") {
  holds("last");
}

TEST_CASE("a guest that opens the debugger is not waited for") {
  holds("browser");
}

TEST_CASE("a guest that calls itself without end gets an R error") {
  holds("recursion");
}

TEST_CASE("a guest whose clean-up never ends is cancelled") {
  holds("on_exit");
}

TEST_CASE("a guest that leaves bindings that bite ends") {
  holds("poisoned_environment");
}

TEST_CASE("a guest that replaces the functions of base ends") {
  holds("poisoned_functions");
}

TEST_CASE("a guest that sends its output elsewhere completes") {
  holds("sink");
}

TEST_CASE("a guest that quits has its result up to there") {
  const auto seen = holds("quit");
  CHECK(seen.lines("contained").empty());
  CHECK(r_says(seen.folder / kOutFolder, "cat(readRDS(\"result.rds\")$before)") == "kept");
}

TEST_CASE("a guest that leaves its working directory has its result where it belongs") {
  const auto seen = holds("working_directory");
  CHECK(r_says(seen.folder / kOutFolder, "cat(readRDS(\"result.rds\")$after)") == "kept");
}

TEST_CASE("a guest that fails says where, and what was there") {
  const auto seen = holds("error");
  CHECK(seen.verdict.message.contains("broken on purpose: 2"));
  CHECK(seen.verdict.call == "inner(a + 1)");
  CHECK(seen.verdict.traceback.size() >= 2);
  CHECK(r_says(seen.folder / kOutFolder, "cat(readRDS(\"error.rds\")$frame$of_inner)") ==
        "seen at the error");
}

TEST_CASE("a guest's warnings are in its log") {
  const auto seen = holds("warnings");
  CHECK(seen.log.contains("be careful"));
  CHECK(seen.log.contains("NAs introduced by coercion"));
}

TEST_CASE("a guest's text in other encodings arrives as UTF-8") {
  const auto seen = holds("encoding");
  CHECK(seen.log.contains("TRUE"));
  CHECK(seen.verdict.message.starts_with("broken "));
  CHECK_FALSE(seen.verdict.message.contains('\xff'));
}

TEST_CASE("a guest that signals an error that is none is a failure like others") {
  const auto seen = holds("odd_condition");
  CHECK_FALSE(std::filesystem::exists(seen.folder / kOutFolder / kResultFile));
}

TEST_CASE("a segfault ends one guest, by its signal") {
  CHECK(holds("segfault").verdict.message.contains("SIGSEGV"));
}

TEST_CASE("an abort ends one guest, by its signal") {
  CHECK(holds("abort").verdict.message.contains("SIGABRT"));
}

TEST_CASE("the guest beside the odd ones gives the right answer") {
  neighbour_is_well();
}

}  // namespace remotist::volunteer::cases
