// Jobs that save checkpoints in the sandbox and are resumed in another guest.
#include <doctest/doctest.h>
#include <filesystem>
#include <set>

#include "tests/watch/run_pair.h"

namespace remotist::volunteer::watched {

namespace {

namespace fs = std::filesystem;

// Some seconds in a loop, a function and a recursion, with random numbers, and a line in a file for each
// round.
constexpr auto kWalk = R"(
set.seed(7)
writeLines("begun", "begun.txt")
depth <- function(n) if (n == 0) 0 else 1 + depth(n - 1)
round <- function(x) {
  for (k in 1:20000) x <- x + rnorm(1) / sqrt(k)
  x + depth(20)
}
total <- 0
trail <- numeric()
for (i in 1:60) {
  total <- round(total)
  trail <- c(trail, total)
  cat(i, format(total, digits = 17), "\n", file = "trail.txt", append = TRUE)
}
)";

}  // namespace

TEST_CASE(
    "a job that is ended goes on from its checkpoint in another guest and ends with the same values and "
    "files") {
  const auto whole = sandbox().run_resumable(kWalk, {});
  REQUIRE_MESSAGE(whole.verdict.ending == Ending::completed, (whole.verdict.message + whole.log));
  const auto cut = sandbox().run_resumable(kWalk, {.ask_at_file = "trail.txt", .stop_at_checkpoint = true});
  REQUIRE(cut.verdict.ending == Ending::cancelled);
  REQUIRE(cut.checkpoints.size() == 1);
  const auto lines_before = text_of(cut.folder / kWorkFolder / "trail.txt");
  CHECK(lines_before.size() < text_of(whole.folder / kWorkFolder / "trail.txt").size());

  const auto rest = sandbox().run_resumable(kWalk, {.from = cut.checkpoints[0].file});
  REQUIRE_MESSAGE(rest.verdict.ending == Ending::completed, (rest.verdict.message + rest.log));
  for (const auto& difference : differences_between(whole, rest, Values::by_r)) FAIL_CHECK(difference);
  CHECK(text_of(rest.folder / kWorkFolder / "trail.txt") ==
        text_of(whole.folder / kWorkFolder / "trail.txt"));
}

TEST_CASE("a job that is resumed is still watched, and its records end with its last values") {
  const auto cut = sandbox().run_resumable(
      kWalk, {.names = {"total", "i"}, .ask_at_file = "trail.txt", .stop_at_checkpoint = true});
  REQUIRE(cut.checkpoints.size() == 1);
  const auto rest =
      sandbox().run_resumable(kWalk, {.names = {"total", "i"}, .from = cut.checkpoints[0].file});
  REQUIRE_MESSAGE(rest.verdict.ending == Ending::completed, (rest.verdict.message + rest.log));
  CHECK(r_output(rest, 1, "x <- unlist(v); cat(x[[1]] > 1, all(diff(x) == 1), x[length(x)])") ==
        "TRUE TRUE 60");
  CHECK(r_output_in_folder(rest, "cat(identical(readRDS('../out/result.rds')$i, 60L))") == "TRUE");
}

TEST_CASE("checkpoints are saved at an interval, and where the script requests one") {
  CHECK(sandbox().run_resumable(kWalk, {.every_ms = 100}).checkpoints.size() > 2);
  const auto asked = sandbox().run_resumable(
      "f <- function() { x <- 1; remotist::checkpoint(); Sys.sleep(0.5); x + 1 }\ny <- f()\n", {});
  REQUIRE_MESSAGE(asked.verdict.ending == Ending::completed, (asked.verdict.message + asked.log));
  CHECK(asked.checkpoints.size() == 1);
  const auto rest =
      sandbox().run_resumable("stop('not from the beginning')\n", {.from = asked.checkpoints[0].file});
  REQUIRE_MESSAGE(rest.verdict.ending == Ending::completed, (rest.verdict.message + rest.log));
  CHECK(r_output_in_folder(rest, "cat(readRDS('../out/result.rds')$y)") == "2");
}

TEST_CASE("scripts print, warn, fail and yield the same through the engine as without it") {
  std::set<fs::path> scripts;
  for (const auto& each : fs::directory_iterator{REMOTIST_SOURCE_DIR "/tests/watch/scripts"})
    scripts.insert(each);
  CHECK(scripts.size() >= 30);
  for (const auto& path : scripts) {
    const auto script = text_of(path);
    INFO(path.filename().string());
    const auto plain = sandbox().run(script);
    for (const auto& difference :
         differences_between(plain, sandbox().run_resumable(script, {}), Values::by_r))
      FAIL_CHECK(difference);
  }
}

}  // namespace remotist::volunteer::watched
