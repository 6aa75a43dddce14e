// Jobs that lie to their host about checkpoints.
#include <doctest/doctest.h>
#include <filesystem>

#include "tests/watch/watched_run.h"

namespace remotist::volunteer::checkpointed {

namespace {

namespace fs = std::filesystem;
using watched::Run;
using watched::sandbox;

Run forging_run(std::vector<std::string> names) {
  const auto forger = fs::read_symlink("/proc/self/exe").parent_path() / "checkpoint_cases" / "forged.so";
  return sandbox().run_resumable("dyn.load('forged.so')\ninvisible(.C('forge'))\ncat('ended\\n')\n",
                                 {.names = std::move(names), .files = {forger}});
}

}  // namespace

TEST_CASE("a job that forges parts of checkpoints gets none, and leaves nothing outside of its folders") {
  for (const auto& names : {std::vector<std::string>{}, std::vector<std::string>{"x"}}) {
    const auto run = forging_run(names);
    CAPTURE(run.log);
    CHECK(run.verdict.ending == Ending::completed);
    CHECK_FALSE(run.verdict.resume_failed);
    CHECK(run.checkpoints.empty());
    CHECK_FALSE(run.resumed);
    CHECK(run.refusals.size() <= 3);
    CHECK(run.log == "ended\n");
    for (const auto& entry : fs::directory_iterator{run.folder})
      CHECK_MESSAGE(!entry.path().filename().string().starts_with("checkpoint"), entry.path());
  }
}

TEST_CASE("the guest after one that forges checkpoints takes its own") {
  const auto run = sandbox().run_resumable("x <- 1\nremotist::checkpoint()\nSys.sleep(0.5)\n", {});
  CHECK(run.checkpoints.size() == 1);
}

}  // namespace remotist::volunteer::checkpointed
