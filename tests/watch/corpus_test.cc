#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/watch/run_pair.h"

namespace remotist::volunteer::watched {

TEST_CASE("scripts print, warn, fail and yield the same with all of their variables watched as with none") {
  std::set<std::filesystem::path> scripts;
  for (const auto& each : std::filesystem::directory_iterator{REMOTIST_SOURCE_DIR "/tests/watch/scripts"}) {
    scripts.insert(each.path());
  }
  CHECK(scripts.size() >= 30);
  for (const auto& path : scripts) {
    std::ostringstream script;
    script << std::ifstream{path}.rdbuf();
    const auto names = names_in(script.str());
    const auto pair = run_plain_and_watched(script.str(), names);
    INFO(path.filename().string() << " with " << names.size() << " variables");
    CHECK_FALSE(pair.plain.log.empty());
    CHECK_FALSE(names.empty());
    for (const auto& difference : pair.differences) FAIL_CHECK(difference);
    CHECK(pair.watched.records.size() >= names.size());
  }
}

}  // namespace remotist::volunteer::watched
