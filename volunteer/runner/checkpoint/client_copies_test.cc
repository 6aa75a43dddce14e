#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace remotist::volunteer::checkpoint {

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the R package has the engine's files as they are: script/client-copies refreshes them") {
  const std::filesystem::path root = REMOTIST_SOURCE_DIR;
  for (const std::string name : {"tables", "analysis"}) {
    CAPTURE(name);
    const auto text = text_of(root / "volunteer/runner/checkpoint" / (name + ".R"));
    CHECK_FALSE(text.empty());
    CHECK(text == text_of(root / "client-r/R" / ("checkpoint-" + name + ".R")));
  }
}

TEST_CASE("the R package has no symbolic links, so R can build it from any copy of the tree") {
  const std::filesystem::path package = REMOTIST_SOURCE_DIR "/client-r";
  for (const auto& each : std::filesystem::recursive_directory_iterator{package}) {
    CAPTURE(each.path().string());
    CHECK_FALSE(each.is_symlink());
  }
}

}  // namespace remotist::volunteer::checkpoint
