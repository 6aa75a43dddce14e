// Jobs that are resumed in another guest: what they print and record, and what ends them.
#include <doctest/doctest.h>
#include <format>
#include <fstream>

#include "tests/checkpoint/kept_checkpoints.h"
#include "tests/watch/run_pair.h"

namespace remotist::volunteer::checkpointed {

namespace {

using watched::differences_between;
using watched::r_output;
using watched::r_output_in_folder;
using watched::Run;
using watched::sandbox;
using watched::text_of;
using watched::Values;

// Prints a line and changes x in each round; y changes in the first round only, z every tenth, w is removed.
constexpr auto kRounds = R"(
cat("begun\n")
y <- 0
w <- 1
for (i in 1:60) {
  x <- i
  if (i == 1) y <- "only once"
  if (i %% 10 == 0) z <- i
  if (i == 3) rm(w)
  cat("round", i, "\n")
  message("and a warning-like line ", i)
  if (i == 5) writeLines("now", "now.txt")
  Sys.sleep(0.03)
}
cat("ended\n")
)";
const std::vector<std::string> kNames{"x", "y", "z", "w", "never"};

// Stops a job at its n-th checkpoint, each of which is kept and confirmed.
watched::TestSandbox::ResumableOptions until_checkpoint(KeptCheckpoints& kept, std::size_t n) {
  watched::TestSandbox::ResumableOptions options{.names = kNames, .ask_at_file = "now.txt"};
  options.at_checkpoint = [&kept, n](Sandbox& host, const std::string& name, const CheckpointTaken& taken) {
    if (kept.all().size() >= n) return;
    kept.keep(taken);
    host.confirm_checkpoint(name, taken.number);
    if (kept.all().size() == n) return host.stop(name);
    host.request_checkpoint(name);
  };
  return options;
}

// The values of a variable in the records up to a checkpoint and in those of the guest that resumed from it.
std::string values_of(std::size_t variable, const Run& first, const CheckpointTaken& taken, const Run& rest) {
  Run joined{.verdict = {}, .log = {}, .records = {}, .folder = rest.folder};
  for (const auto& record : first.of(variable)) {
    if (record.sent.record.number <= taken.watched[variable].number) joined.records.push_back(record);
  }
  for (const auto& record : rest.of(variable)) joined.records.push_back(record);
  return r_output(
      joined, variable,
      "cat(sapply(v, function(x) if (is.null(x)) 'removed' else if (is.list(x)) 'problem' else x))");
}

std::string numbers(int from, int to, int by) {
  std::string text;
  for (int i = from; i <= to; i += by) text += (text.empty() ? "" : " ") + std::to_string(i);
  return text;
}

}  // namespace

TEST_CASE("a resumed job goes on with its log and its records, without repetition or loss") {
  const auto whole = sandbox().run_resumable(kRounds, {.names = kNames});
  REQUIRE_MESSAGE(whole.verdict.ending == Ending::completed, (whole.verdict.message + whole.log));
  KeptCheckpoints kept;
  const auto cut = sandbox().run_resumable(kRounds, until_checkpoint(kept, 3));
  REQUIRE(cut.verdict.ending == Ending::cancelled);
  REQUIRE(kept.all().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const auto& taken = kept.all()[i].taken;
    CHECK(taken.cpu_ms > 0);
    CHECK(taken.pause_ms > 0);
    CHECK(taken.child_cpu_ms > 0);
    REQUIRE(taken.watched.size() == kNames.size());
    CHECK(cut.log.starts_with(taken.log));
    CHECK(taken.log.size() < cut.log.size());
    CHECK(taken.watched[4].hash.empty());
    const auto rest = sandbox().run_resumable(kRounds, {.names = kNames, .resume = kept.resume_from(i)});
    REQUIRE_MESSAGE(rest.verdict.ending == Ending::completed, (rest.verdict.message + rest.log));
    CHECK(rest.resumed);
    CHECK(rest.log == whole.log);
    CHECK(values_of(0, cut, taken, rest) == numbers(1, 60, 1));
    CHECK(values_of(1, cut, taken, rest) == "0 only once");
    CHECK(values_of(2, cut, taken, rest) == numbers(10, 60, 10));
    CHECK(values_of(3, cut, taken, rest) == "1 removed");
    CHECK(values_of(4, cut, taken, rest) == "problem");
    for (const auto& difference : differences_between(whole, rest, Values::by_r)) FAIL_CHECK(difference);
  }
}

TEST_CASE("a job that is resumed twice has each line and each record once") {
  const auto whole = sandbox().run_resumable(kRounds, {.names = kNames});
  KeptCheckpoints first_kept;
  const auto first = sandbox().run_resumable(kRounds, until_checkpoint(first_kept, 1));
  REQUIRE(first_kept.all().size() == 1);
  KeptCheckpoints second_kept;
  auto options = until_checkpoint(second_kept, 2);
  options.resume = first_kept.resume_from();
  const auto second = sandbox().run_resumable(kRounds, options);
  REQUIRE(second_kept.all().size() == 2);
  // y did not change in the second guest, and its last record is still known.
  CHECK(second.of(1).empty());
  CHECK(second_kept.all()[1].taken.watched[1].number == 0);
  CHECK(second_kept.all()[1].taken.watched[1].hash == first_kept.all()[0].taken.watched[1].hash);
  const auto rest = sandbox().run_resumable(kRounds, {.names = kNames, .resume = second_kept.resume_from()});
  REQUIRE_MESSAGE(rest.verdict.ending == Ending::completed, (rest.verdict.message + rest.log));
  CHECK(rest.log == whole.log);
  CHECK(rest.of(1).empty());
}

TEST_CASE("the output before a checkpoint is in its log even if C code had only buffered it") {
  const auto whole = sandbox().run_resumable(
      "x <- 1\nwrite('into a file', 'now.txt')\ncat(rep('line\\n', "
      "20000))\nremotist::checkpoint()\nSys.sleep(1)\n",
      {});
  REQUIRE(whole.checkpoints.size() == 1);
  CHECK(whole.checkpoints[0].log_left_out == 0);
  CHECK(whole.checkpoints[0].log == whole.log);
}

TEST_CASE("a log of which the middle was left out goes on so") {
  auto limits = watched::TestSandbox::generous_limits();
  limits.output_bytes_max = 1000;
  const auto script =
      "for (i in 1:200) cat('before', i, '\\n')\nremotist::checkpoint()\nfor (i in 1:50) cat('after', i, "
      "'\\n')\n"
      "Sys.sleep(0.5)\n";
  const auto whole = sandbox().run_resumable(script, {.limits = limits});
  REQUIRE(whole.checkpoints.size() == 1);
  CHECK(whole.checkpoints[0].log.size() == 1000);
  CHECK(whole.checkpoints[0].log_left_out > 0);
  KeptCheckpoints kept;
  kept.keep(whole.checkpoints[0]);
  const auto rest = sandbox().run_resumable(script, {.resume = kept.resume_from(), .limits = limits});
  CHECK(rest.log == whole.log);
}

TEST_CASE("a checkpoint has the newest progress before it") {
  const auto run = sandbox().run_resumable(
      "progress(0.25, 'a quarter')\nSys.sleep(0.1)\nremotist::checkpoint()\nprogress(0.5)\nSys.sleep(0.5)\n",
      {});
  REQUIRE(run.checkpoints.size() == 1);
  REQUIRE(run.checkpoints[0].progress);
  CHECK(run.checkpoints[0].progress->fraction == 0.25);
  CHECK(run.checkpoints[0].progress->message == "a quarter");
}

TEST_CASE("a checkpoint names R, packages, script, line and function, and the script sees no lines") {
  const auto run = sandbox().run_resumable(
      "library(splines)\nwriteLines('x', 'now.txt')\n# a comment\n\nf <- function(x) {\n  for (i in 1:3) {\n"
      "    y <- x + i\n    if (i == 2) remotist::checkpoint()\n  }\n  y\n}\n\nz <- f(1)\n"
      "cat(is.null(attr(f, 'srcref')), '\\n')\nfor (i in 1:50) Sys.sleep(0.01)\n",
      {});
  REQUIRE_MESSAGE(run.checkpoints.size() == 1, run.log);
  KeptCheckpoints kept;
  const auto& manifest = kept.keep(run.checkpoints[0]).manifest;
  CHECK(manifest.file == "main.R");
  CHECK(manifest.line == 13);
  CHECK(manifest.call == "f");
  CHECK(manifest.architecture == r_output_in_folder(run, "cat(R.version$arch)"));
  CHECK(manifest.r_version == r_output_in_folder(run, "cat(paste0(R.version$major, '.', R.version$minor))"));
  for (const auto& package : manifest.packages) FAIL_CHECK(package);
  CHECK(manifest.state_bytes > 1000);
  CHECK(manifest.files == 2);
  CHECK(run.log.starts_with("TRUE"));
  // The position is known in a resumed guest, too, whatever its folder has.
  KeptCheckpoints again;
  watched::TestSandbox::ResumableOptions options{.ask_at_file = "now.txt", .resume = kept.resume_from()};
  options.at_checkpoint = [&](Sandbox& host, const std::string& name, const CheckpointTaken& taken) {
    again.keep(taken);
    host.stop(name);
  };
  sandbox().run_resumable("stop('not from the beginning')\n", options);
  REQUIRE(again.all().size() == 1);
  CHECK(again.all()[0].manifest.line >= 13);
}

TEST_CASE("a script that cannot be resumed runs without the engine, and the reason is told once") {
  const auto kept =
      sandbox().run_resumable("options(keep.source = TRUE)\ncat('runs\\n')\n", {.every_ms = 50});
  CHECK(kept.verdict.ending == Ending::completed);
  REQUIRE(kept.not_resumable.size() == 1);
  CHECK(kept.not_resumable[0].contains("keep.source"));
  CHECK(kept.checkpoints.empty());
  const auto odd = sandbox().run_resumable("cat('runs\\n')\nx <- (\n", {});
  REQUIRE(odd.not_resumable.size() == 1);
  CHECK(odd.not_resumable[0] == "the script cannot be parsed to its end");
  CHECK(odd.log.contains("runs"));
  CHECK(sandbox().run_resumable("x <- 1\n", {}).not_resumable.empty());
}

TEST_CASE("a checkpoint that is refused is told with its reason, at most once a second, and taken later") {
  const auto run = sandbox().run_resumable(
      "f <- function(p) {\n  for (k in 1:5) {\n    Sys.sleep(0.01)\n    writeLines('x', 'now.txt')\n  }\n  "
      "(p - 2)^2\n}\n"
      "x <- optim(1, f, method = 'BFGS', control = list(maxit = 20))\nfor (i in 1:100) Sys.sleep(0.01)\n",
      {.ask_at_file = "now.txt"});
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(run.checkpoints.size() == 1);
  REQUIRE(!run.refusals.empty());
  CHECK(run.refusals.size() <= 4);
  CHECK(run.refusals[0].contains("optim()"));
}

TEST_CASE("a state that cannot be saved is told although only the child that writes notices") {
  const auto run = sandbox().run_resumable(
      "p <- getNativeSymbolInfo('unif_rand')$address\nwriteLines('x', 'now.txt')\nfor (i in 1:30) "
      "Sys.sleep(0.05)\nrm(p)\n"
      "for (i in 1:60) Sys.sleep(0.05)\n",
      {.ask_at_file = "now.txt"});
  CHECK_MESSAGE(run.verdict.ending == Ending::completed, (run.verdict.message + run.log));
  CAPTURE(run.checkpoints.size());
  REQUIRE(!run.refusals.empty());
  CHECK(run.refusals[0].contains("external pointer"));
  CHECK(run.checkpoints.size() == 1);
}

TEST_CASE("a checkpoint that cannot be restored is told apart from an error of the script") {
  const auto asked =
      sandbox().run_resumable("x <- 1\nremotist::checkpoint()\nSys.sleep(0.5)\nstop('its own')\n", {});
  REQUIRE(asked.checkpoints.size() == 1);
  CHECK(asked.verdict.ending == Ending::r_error);
  CHECK_FALSE(asked.verdict.resume_failed);
  const auto good = text_of(asked.checkpoints[0].file);
  const auto resumed_from = [&](const std::string& text) {
    const auto file = asked.folder / "changed";
    std::ofstream{file, std::ios::binary} << text;
    return sandbox().run_resumable("x <- 2\n", {.from = file});
  };
  const auto own = resumed_from(good);
  CHECK(own.resumed);
  CHECK(own.verdict.ending == Ending::r_error);
  CHECK_FALSE(own.verdict.resume_failed);
  auto damaged = good;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  for (const auto& [text, reason] :
       {std::pair{damaged, "the checkpoint is damaged"},
        std::pair{good.substr(0, good.size() / 2), "the checkpoint is damaged"},
        std::pair{std::string{}, "the checkpoint is damaged"},
        std::pair{"remotist checkpoint 2\n" + good.substr(22), "another format"}}) {
    const auto rest = resumed_from(text);
    CHECK(rest.verdict.ending == Ending::sandbox_failure);
    CHECK(rest.verdict.resume_failed);
    CHECK_FALSE(rest.resumed);
    CHECK_MESSAGE(rest.verdict.message.contains(reason), rest.verdict.message);
  }
  const auto missing = sandbox().run_resumable("x <- 2\n", {.from = asked.folder / "none"});
  CHECK(missing.verdict.resume_failed);
  CHECK(missing.verdict.message.contains("cannot be opened"));
}

TEST_CASE("a guest that dies while it restores its checkpoint has failed to resume") {
  // The restored state is larger than the memory that the next guest has.
  KeptCheckpoints kept;
  const auto asked = sandbox().run_resumable("x <- runif(4e7)\nremotist::checkpoint()\nSys.sleep(5)\n",
                                             {.stop_at_checkpoint = true});
  REQUIRE(asked.checkpoints.size() == 1);
  kept.keep(asked.checkpoints[0]);
  auto limits = watched::TestSandbox::generous_limits();
  limits.ram_mb = 200;
  const auto rest = sandbox().run_resumable("x <- 2\n", {.resume = kept.resume_from(), .limits = limits});
  CHECK(rest.verdict.ending == Ending::sandbox_failure);
  CHECK(rest.verdict.resume_failed);
  CHECK_FALSE(rest.resumed);
}

TEST_CASE("the process that writes a checkpoint ends with its guest, and its CPU time counts for the job") {
  const auto run = sandbox().run_resumable("x <- runif(3e7)\nremotist::checkpoint()\nq()\n", {});
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(run.checkpoints.empty());
  const auto waited = sandbox().run_resumable("x <- runif(1e7)\nremotist::checkpoint()\nSys.sleep(5)\n",
                                              {.stop_at_checkpoint = true});
  REQUIRE(waited.checkpoints.size() == 1);
  const auto& taken = waited.checkpoints[0];
  CHECK(taken.child_cpu_ms > 100);
  CHECK(static_cast<double>(waited.verdict.cpu_ms) >=
        static_cast<double>(taken.cpu_ms) + taken.child_cpu_ms / 2);
}

}  // namespace remotist::volunteer::checkpointed
