#include "core/file_path.h"

#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <sstream>

#include "core/digest.h"
#include "core/json.h"
#include "core/limits.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/paths.h"

using namespace remotist;

namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

struct Case {
  std::string path;
  std::optional<std::string> kept;
};

// The table that the R package is tested with, too.
std::vector<Case> cases() {
  std::ifstream in{REMOTIST_SOURCE_DIR "/client-r/tests/testthat/file-paths.json"};
  std::ostringstream text;
  text << in.rdbuf();
  std::vector<Case> all;
  for (const auto& row : json_in(text.str())) {
    const auto times = row.value("times", std::size_t{1});
    Case each;
    if (row.contains("hex")) {
      const auto hex = row.at("hex").get<std::string>();
      each.path = bytes_of_hex(hex, hex.size() / 2).value();
    } else {
      each.path = repeated(row.at("path").get<std::string>(), times);
    }
    if (row.contains("kept")) each.kept = repeated(row.at("kept").get<std::string>(), times);
    all.push_back(std::move(each));
  }
  return all;
}

}  // namespace

TEST_CASE("a path of the table is acceptable, or is kept under the one that the table says, or under none") {
  REQUIRE(cases().size() > 40);
  for (const auto& [path, kept] : cases()) {
    CAPTURE(path);
    CHECK(is_file_path(path) == (kept == path));
    CHECK(kept_file_path(path) == kept);
    if (kept) CHECK(is_file_path(*kept));
  }
}

TEST_CASE("a path with an empty, \".\" or \"..\" part leads elsewhere, however long or odd the others are") {
  for (const char* path :
       {"", ".", "..", "/", "/a", "a/", "a//b", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b"}) {
    CAPTURE(path);
    CHECK(leads_elsewhere(path));
  }
  for (const char* path : {"a", "a/b", "...", ".a", "..a", "a..", "a/...", "a/..b/c", "a\nb"}) {
    CAPTURE(path);
    CHECK_FALSE(leads_elsewhere(path));
  }
  CHECK_FALSE(leads_elsewhere(std::string(2 * limits::kPathBytesMax, 'a')));
}

TEST_CASE("a path has at most so many bytes, escaped or not") {
  CHECK(is_file_path(std::string(limits::kPathBytesMax, 'a')));
  CHECK_FALSE(is_file_path(std::string(limits::kPathBytesMax + 1, 'a')));
  CHECK(kept_file_path(repeated("a", limits::kPathBytesMax - 3) + "\n"));
  CHECK_FALSE(kept_file_path(repeated("a", limits::kPathBytesMax - 2) + "\n"));
}

TEST_CASE("no two paths that are escaped are kept under the same name") {
  // All of up to three bytes of these.
  constexpr std::string_view kBytes{"a%25\n\\\xc3\xa9\0", 9};
  std::vector<std::string> paths{""};
  for (std::size_t at = 0; paths[at].size() < 3; ++at) {
    for (const char c : kBytes) paths.push_back(paths[at] + c);
  }
  std::map<std::string, std::string> taken;
  for (const auto& path : paths) {
    if (is_file_path(path)) continue;
    const auto kept = kept_file_path(path);
    if (!kept) continue;
    CAPTURE(*kept);
    CHECK(taken.try_emplace(*kept, path).first->second == path);
  }
  CHECK(taken.size() > 500);
}

TEST_CASE("files stand in one folder unless one is there twice or is a folder of another") {
  FileTree tree;
  for (const char* path : {"b", "a/b", "a/c", "a.b", "a0", "c/d/e"}) CHECK_FALSE(tree.add(path));
  CHECK(tree.add("b") == "b");
  CHECK(tree.add("a") == "a/b");
  CHECK(tree.add("b/x") == "b");
  CHECK(tree.add("b/x/y") == "b");
  CHECK(tree.add("c/d") == "c/d/e");
  CHECK(tree.add("c") == "c/d/e");
  CHECK_FALSE(tree.add("c/e"));
  CHECK_FALSE(tree.add("a/bc"));
}

TEST_CASE("paths that the fuzzer starts from or once found break nothing") {
  fuzz::check_corpus("paths", fuzz::paths_broken_by);
}
