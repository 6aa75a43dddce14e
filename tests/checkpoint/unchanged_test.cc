// What later checkpoints of a job leave out, and what they must not.
#include <doctest/doctest.h>
#include <format>
#include <fstream>

#include "tests/checkpoint/kept_checkpoints.h"
#include "tests/watch/run_pair.h"
#include "volunteer/sandbox/job_disc.h"

namespace remotist::volunteer::checkpointed {

namespace {

using watched::r_output_in_folder;
using watched::Run;
using watched::sandbox;
using watched::TestSandbox;

std::filesystem::path mapped() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "checkpoint_cases" / "mapped.so";
}

// Runs a script on an ext4 image whose checkpoints are kept and, unless `confirms` is false, confirmed.
Run run_kept(const std::string& script, KeptCheckpoints& kept, bool confirms = true, bool full = false) {
  TestSandbox::ResumableOptions options{.files = {mapped()}, .on_disc = true};
  options.at_checkpoint = [&](Sandbox& host, const std::string& name, const CheckpointTaken& taken) {
    kept.keep(taken);
    if (confirms) host.confirm_checkpoint(name, taken.number);
    if (full) host.request_full_checkpoint(name);
    std::ofstream{taken.file.parent_path() / kOutFolder / std::format("kept-{}", kept.all().size())};
  };
  return sandbox().run_resumable(script, options);
}

// kept() waits until the host has kept its n-th checkpoint, save() takes one and waits for that.
constexpr auto kSave = R"(
count <- 0
kept <- function() {
  count <<- count + 1
  while (!any(file.exists(sprintf("/out/kept-%d", count), "/out/resumed"))) Sys.sleep(0.02)
  Sys.sleep(0.1)
}
save <- function() { remotist::checkpoint(); kept() }
)";

bool has_image(const Run& run) {
  if (run.disc && run.disc->kind() == DiscKind::image) return true;
  MESSAGE("skipped: this machine has no file system of which the times show every change");
  return false;
}

}  // namespace

TEST_CASE("files that did not change are neither read nor sent again, and are restored") {
  KeptCheckpoints kept;
  const auto run = run_kept(
      std::string(kSave) +
          "writeBin(as.raw(sample(0:255, 3e6, TRUE)), 'large.bin')\n"
          "for (i in 1:50) writeLines(paste('file', i, strrep('x', 1000)), sprintf('small-%d.txt', i))\n"
          "file.create('empty')\nx <- 0\nSys.sleep(0.2)\nsave()\n"
          "x <- 1\ncat('changed', file = 'small-7.txt')\nSys.sleep(0.2)\nsave()\n"
          "x <- 2\nunlink('small-8.txt')\nwriteLines('new', 'new.txt')\nSys.sleep(0.2)\nsave()\nx <- "
          "3\nsave()\n",
      kept);
  REQUIRE_MESSAGE(run.verdict.ending == Ending::completed, (run.verdict.message + run.log));
  if (!has_image(run)) return;
  REQUIRE(kept.all().size() == 4);
  CHECK(kept.all()[0].manifest.files == 54);
  CHECK(kept.all()[0].manifest.files_read == 54);
  CHECK(kept.all()[1].manifest.files == 54);
  CHECK(kept.all()[1].manifest.files_read == 1);
  CHECK(kept.all()[2].manifest.files == 54);
  CHECK(kept.all()[2].manifest.files_read == 1);
  CHECK(kept.all()[3].manifest.files_read == 0);
  CHECK(kept.all()[0].frame_bytes > 3'000'000);
  for (std::size_t i = 1; i < 4; ++i) CHECK(kept.all()[i].frame_bytes < 400'000);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto rest = sandbox().run_resumable("stop()", {.resume = kept.resume_from(i), .out = {"resumed"}});
    REQUIRE_MESSAGE(rest.verdict.ending == Ending::completed, (rest.verdict.message + rest.log));
    // What the script does after that checkpoint makes the folders equal.
    CHECK(r_output_in_folder(
              rest,
              "f <- sort(list.files('../work')); cat(length(f), sum(file.size(file.path('../work', f))))") ==
          r_output_in_folder(
              run,
              "f <- sort(list.files('../work')); cat(length(f), sum(file.size(file.path('../work', f))))"));
    CHECK(r_output_in_folder(
              rest, "f <- list.files('../work', full.names = TRUE); cat(unname(tools::md5sum(sort(f))))") ==
          r_output_in_folder(
              run, "f <- list.files('../work', full.names = TRUE); cat(unname(tools::md5sum(sort(f))))"));
  }
}

TEST_CASE("a file that is rewritten right after a checkpoint, in the same tick, is saved by the next one") {
  KeptCheckpoints kept;
  std::string script = kSave;
  constexpr int kRounds = 5;
  for (int i = 0; i < kRounds; ++i) {
    script += std::format(
        "writeLines('first  {0}', 'racy.txt'); remotist::checkpoint(); writeLines('second {0}', 'racy.txt')\n"
        "kept()\nsave()\nstopifnot(readLines('racy.txt') == 'second {0}')\n",
        i);
  }
  const auto run = run_kept(script, kept);
  REQUIRE_MESSAGE(run.verdict.ending == Ending::completed, (run.verdict.message + run.log));
  REQUIRE(kept.all().size() == 2 * kRounds);
  for (int i = 0; i < kRounds; ++i) {
    // The script itself looks at the file that was restored.
    const auto rest = sandbox().run_resumable(
        "stop()", {.resume = kept.resume_from(static_cast<std::size_t>(2 * i + 1)), .out = {"resumed"}});
    CHECK_MESSAGE(rest.verdict.ending == Ending::completed, (rest.verdict.message + rest.log));
  }
}

TEST_CASE("a file that is written through a mapping, or by another process, is saved") {
  KeptCheckpoints kept;
  const auto run = run_kept(
      std::string(kSave) +
          "dyn.load('mapped.so')\n"
          "for (name in c('mapped', 'mapped_later', 'appended')) writeLines(strrep('-', 5000), name)\n"
          "stopifnot(.C('open_mapping', 'mapped', 0L)[[2]] == 1L)\ninvisible(.C('write_mapping', 97L))\n"
          "Sys.sleep(0.2)\nsave()\n"
          "invisible(.C('write_mapping', 98L))\nSys.sleep(0.2)\nsave()\n"
          "invisible(.C('write_mapping', "
          "99L))\ninvisible(.C('close_mapping'))\nSys.sleep(0.2)\nsave()\nsave()\n"
          "stopifnot(.C('open_mapping', 'mapped_later', 0L)[[2]] == 1L)\ninvisible(.C('write_mapping', "
          "100L))\n"
          "invisible(.C('close_mapping'))\nsystem('printf more | dd of=appended conv=notrunc 2>/dev/null')\n"
          "save()\nwriteLines('end', 'end.txt')\n",
      kept);
  REQUIRE_MESSAGE(run.verdict.ending == Ending::completed, (run.verdict.message + run.log));
  REQUIRE(kept.all().size() == 5);
  const auto begins = [&](std::size_t checkpoint, const std::string& file) {
    const auto resume = kept.resume_from(checkpoint);
    const auto rest =
        sandbox().run_resumable("stop()", {.resume = resume, .files = {mapped()}, .out = {"resumed"}});
    return r_output_in_folder(rest,
                              std::format("cat(substr(readLines('../work/{}', warn = FALSE), 1, 4))", file));
  };
  // Where the script needs the library next, it fails, and the folder is as it was restored.
  CHECK(begins(1, "mapped") == "bbbb");
  CHECK(begins(2, "mapped") == "cccc");
  CHECK(begins(3, "mapped") == "cccc");
  CHECK(begins(4, "mapped_later") == "dddd");
  CHECK(begins(4, "appended") == "more");
}

TEST_CASE("of large vectors only those that changed are written") {
  KeptCheckpoints kept;
  const auto run = run_kept(std::string(kSave) +
                                "v <- lapply(1:60, function(i) runif(125000))\nsave()\n"
                                "v[[7]][3] <- 0\nsave()\ncat(format(sapply(v, sum), digits = 17))\n",
                            kept);
  REQUIRE_MESSAGE(run.verdict.ending == Ending::completed, (run.verdict.message + run.log));
  REQUIRE(kept.all().size() == 2);
  CHECK(kept.all()[0].frame_bytes > 40'000'000);
  CHECK(kept.all()[1].frame_bytes < 3'000'000);
  const auto rest = sandbox().run_resumable("stop()", {.resume = kept.resume_from(), .out = {"resumed"}});
  REQUIRE_MESSAGE(rest.verdict.ending == Ending::completed, (rest.verdict.message + rest.log));
  CHECK(rest.log == run.log);
  CHECK(run.log.size() > 600);
}

TEST_CASE("without a confirmation, and after a request for all frames, a checkpoint is whole") {
  const auto script = std::string(kSave) + "v <- runif(1e6)\nsave()\nsave()\n";
  for (const bool full : {false, true}) {
    KeptCheckpoints kept;
    const auto run = run_kept(script, kept, full, full);
    REQUIRE_MESSAGE(run.verdict.ending == Ending::completed, (run.verdict.message + run.log));
    REQUIRE(kept.all().size() >= 2);
    for (const auto& one : kept.all()) CHECK(one.frames == one.chunks.size());
  }
}

}  // namespace remotist::volunteer::checkpointed
