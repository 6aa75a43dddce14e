#include "volunteer/agent/resume_choice.h"

#include <doctest/doctest.h>

#include "volunteer/sandbox/checkpoint_file.h"

namespace remotist::volunteer {
namespace {

constexpr std::int64_t kBytesMax = 1000;

OfferedCheckpoint offered() {
  return {.sequence = 3,
          .format = kCheckpointFormat,
          .r_version = "4.5.0",
          .architecture = "x86_64",
          .packages = {"MASS 7.3-65"},
          .size_bytes = kBytesMax};
}

MachineSoftware machine() {
  return {.r_version = "4.5.2", .architecture = "x86_64", .packages = {{"MASS", "7.3-65"}, {"R6", "2.5"}}};
}

}  // namespace

TEST_CASE("a machine with the same minor version of R, architecture and packages can resume") {
  CHECK(why_not_resumable(offered(), machine(), kBytesMax).empty());
}

TEST_CASE("each difference that prevents resuming is named") {
  const auto why = [](auto change) {
    auto checkpoint = offered();
    auto software = machine();
    change(checkpoint, software);
    return why_not_resumable(checkpoint, software, kBytesMax);
  };
  CHECK(why([](auto& its, auto&) { its.format = kCheckpointFormat + 1; }).contains("format"));
  CHECK(why([](auto& its, auto&) { its.r_version = "4.6.0"; }).contains("R 4.6.0"));
  CHECK(why([](auto& its, auto&) { its.r_version = ""; }).contains("R"));
  CHECK(why([](auto& its, auto&) { its.architecture = "aarch64"; }).contains("aarch64"));
  CHECK(why([](auto& its, auto&) { its.packages = {"nnet 7"}; }).contains("does not have the package nnet"));
  CHECK(why([](auto& its, auto&) { its.packages = {"MASS 7.4"}; }).contains("needs MASS 7.4"));
  CHECK(why([](auto& its, auto&) { its.size_bytes = kBytesMax + 1; }).contains("larger"));
}

TEST_CASE("what a machine does not know of itself prevents nothing") {
  CHECK(why_not_resumable(offered(), {}, kBytesMax).empty());
}

TEST_CASE("a market's entry is read with what may be absent, and refused without what may not") {
  const nlohmann::json entry{{"sequence", 3},
                             {"format", 3},
                             {"r_version", "4.5.0"},
                             {"architecture", "x86_64"},
                             {"packages", {"MASS 7.3-65"}},
                             {"size_bytes", 10}};
  const auto read = offered_checkpoint(entry);
  CHECK(read.sequence == 3);
  CHECK(read.log.empty());
  for (const char* field : {"sequence", "format", "packages", "size_bytes"}) {
    auto without = entry;
    without.erase(field);
    CHECK_THROWS(offered_checkpoint(without));
    auto wrong = entry;
    wrong[field] = nlohmann::json::object();
    CHECK_THROWS(offered_checkpoint(wrong));
  }
}

}  // namespace remotist::volunteer
