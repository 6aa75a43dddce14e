#include <doctest/doctest.h>

#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that misbehaves in no way completes") {
  check_contained("plain");
}

TEST_CASE("a guest that works with children completes") {
  check_contained("children");
}

TEST_CASE("a guest that asks a person is not waited for") {
  check_contained("read_line");
}

TEST_CASE("a guest that draws without a device completes") {
  check_contained("plot");
}

TEST_CASE("a guest whose last word fails completes") {
  check_contained("last");
}

TEST_CASE("a guest that opens the debugger is not waited for") {
  check_contained("browser");
}

TEST_CASE("a guest that calls itself without end gets an R error") {
  check_contained("recursion");
}

TEST_CASE("a guest whose clean-up never ends is cancelled") {
  check_contained("on_exit");
}

TEST_CASE("a guest that leaves bindings that bite ends") {
  check_contained("poisoned_environment");
}

TEST_CASE("a guest that replaces the functions of base ends") {
  check_contained("poisoned_functions");
}

TEST_CASE("a guest that sends its output elsewhere completes") {
  check_contained("sink");
}

TEST_CASE("a guest that quits has its result up to there") {
  const auto seen = check_contained("quit");
  CHECK(seen.lines("contained").empty());
  CHECK(r_output(seen.folder / kOutFolder, "cat(readRDS(\"result.rds\")$before)") == "kept");
}

TEST_CASE("a guest that leaves its working directory has its result where it belongs") {
  const auto seen = check_contained("working_directory");
  CHECK(r_output(seen.folder / kOutFolder, "cat(readRDS(\"result.rds\")$after)") == "kept");
}

TEST_CASE("a guest that fails says where, and what was there") {
  const auto seen = check_contained("error");
  CHECK(seen.verdict.message.contains("broken on purpose: 2"));
  CHECK(seen.verdict.call == "inner(a + 1)");
  CHECK(seen.verdict.traceback.size() >= 2);
  CHECK(r_output(seen.folder / kOutFolder, "cat(readRDS(\"error.rds\")$frame$of_inner)") ==
        "seen at the error");
}

TEST_CASE("a guest's warnings are in its log") {
  const auto seen = check_contained("warnings");
  CHECK(seen.log.contains("be careful"));
  CHECK(seen.log.contains("NAs introduced by coercion"));
}

TEST_CASE("a guest's text in other encodings arrives as UTF-8") {
  const auto seen = check_contained("encoding");
  CHECK(seen.log.contains("TRUE"));
  CHECK(seen.verdict.message.starts_with("broken "));
  CHECK_FALSE(seen.verdict.message.contains('\xff'));
}

TEST_CASE("a guest that signals an error that is none is a failure like others") {
  const auto seen = check_contained("odd_condition");
  CHECK_FALSE(std::filesystem::exists(seen.folder / kOutFolder / kResultFile));
}

TEST_CASE("a segfault ends one guest, by its signal") {
  CHECK(check_contained("segfault").verdict.message.contains("SIGSEGV"));
}

TEST_CASE("an abort ends one guest, by its signal") {
  CHECK(check_contained("abort").verdict.message.contains("SIGABRT"));
}

TEST_CASE("the guest beside the odd ones gives the right answer") {
  check_neighbour();
}

}  // namespace remotist::volunteer::cases
