#include <doctest/doctest.h>
#include <filesystem>

#include "tests/watch/watched_run.h"

namespace remotist::volunteer::watched {

namespace {

std::filesystem::path forger() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "watch_cases" / "forged_changes.so";
}

}  // namespace

TEST_CASE("forged changes are accepted only where a runner could have sent them") {
  const auto run = sandbox().run("dyn.load('forged_changes.so')\ninvisible(.C('forge', 0L))\n", {"never"},
                                 TestSandbox::generous_limits(), {forger()});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  REQUIRE(run.records.size() == 1);
  CHECK(run.records[0].sent.variable == 0);
  CHECK(run.records[0].sent.record.number == 1);
  CHECK(run.records[0].sent.record.words == "it is forged");
}

TEST_CASE("a guest that floods its host with changes is ended, and others run on") {
  const auto run = sandbox().run("dyn.load('forged_changes.so')\ninvisible(.C('forge', 1L))\n", {"never"},
                                 TestSandbox::generous_limits(), {forger()});
  CHECK(run.verdict.ending == Ending::limit);
  CHECK(run.verdict.limit == Limit::frames);
  CHECK(run.records.size() < 20'000);
  const auto after = sandbox().run("x <- 1\n", {"x"});
  CHECK(after.records.size() == 1);
}

TEST_CASE("a guest without watched variables cannot report changes") {
  const auto run = sandbox().run("dyn.load('forged_changes.so')\ninvisible(.C('forge', 0L))\n", {},
                                 TestSandbox::generous_limits(), {forger()});
  CHECK(run.records.empty());
  CHECK(run.verdict.ending == Ending::completed);
}

TEST_CASE("a host that reads nothing for a while receives the newest values, and R has not waited for it") {
  // Nobody reads for as long as the script runs, which writes much more than a socket holds.
  const auto run = sandbox().run_unread(
      "x <- 0\nt0 <- Sys.time()\nfor (i in 1:2000) { x <- rnorm(2000) + i; y <- sum(runif(2e4)) }\n"
      "cat(as.numeric(Sys.time() - t0, units = 'secs') < 20, '')\nx <- 'last'\nwriteLines('done', 'done')\n",
      {"x"}, "done");
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(run.log.starts_with("TRUE"));
  CHECK(run.records.size() > 10);
  CHECK(r_output(run, 0, "cat(v[[length(v)]])") == "last");
}

}  // namespace remotist::volunteer::watched
