#include "volunteer/sandbox/folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "core/limits.h"
#include "volunteer/sandbox/sandbox.h"

using namespace remotist;
using namespace remotist::volunteer;
namespace fs = std::filesystem;

namespace {

class TestFolder {
 public:
  TestFolder() {
    std::string name = (fs::temp_directory_path() / "folder-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  fs::path operator/(std::string_view name) const { return path_ / name; }

 private:
  fs::path path_;
};

constexpr std::int64_t kFolderMiB = 1 << 20;

void write(const fs::path& file, const std::string& text) {
  std::ofstream{file} << text;
}

}  // namespace

TEST_CASE("new and changed files are made, others and links are not") {
  const TestFolder test_folder;
  const auto folder = test_folder / "work";
  fs::create_directories(folder / "sub");
  write(folder / "same", "a");
  write(folder / "grown", "a");
  write(folder / "replaced", "a");
  const auto before = state_of(folder);
  write(folder / "grown", "ab");
  write(folder / "other", "b");
  fs::rename(folder / "other", folder / "replaced");
  write(folder / "sub/new", "c");
  fs::create_symlink("/etc/passwd", folder / "link");
  fs::create_directory_symlink("/etc", folder / "links");
  const auto made = made_since(before, folder, kFolderMiB);
  CHECK(made.paths == std::vector<std::string>{"grown", "replaced", "sub/new"});
  CHECK(made.left_out.empty());
}

TEST_CASE("invalid names are stored escaped, or are left out with a message") {
  const TestFolder test_folder;
  const auto folder = test_folder / "work";
  fs::create_directories(folder);
  write(folder / "bad\xff", "");
  write(folder / "back\\slash", "");
  write(folder / "new\nline", "");
  const std::string part(100, 'd');
  fs::create_directories(folder / part / part);
  const std::string at_limit = part + "/" + part + "/" + std::string(limits::kPathBytesMax - 202, 'f');
  write(folder / at_limit, "");
  write(folder / (at_limit + "f"), "");
  std::string too_long_escaped(limits::kPathBytesMax - 204, 'f');
  too_long_escaped += '\n';
  write(folder / part / part / too_long_escaped, "");
  const auto made = made_since({}, folder, kFolderMiB);
  CHECK(made.paths == std::vector<std::string>{"back\\slash", "bad\xff", at_limit, "new\nline"});
  REQUIRE(made.renamed.size() == 3);
  CHECK(made.renamed[0] == "back\\slash is kept as back%5Cslash");
  CHECK(made.renamed[2] == "new?line is kept as new%0Aline");
  CHECK(made.left_out.size() == 2);
}

TEST_CASE("no two files are stored under one name, nor one as a folder of another") {
  const TestFolder test_folder;
  const auto folder = test_folder / "work";
  fs::create_directories(folder / "b%0A");
  write(folder / "a\n", "");
  write(folder / "a%0A", "");
  write(folder / "b\n", "");
  write(folder / "b%0A/c", "");
  write(folder / "c\n", "");
  const auto made = made_since({}, folder, kFolderMiB);
  CHECK(made.paths == std::vector<std::string>{"a%0A", "b%0A/c", "c\n"});
  REQUIRE(made.left_out.size() == 2);
  CHECK(made.left_out[0] == "a? would be kept as a%0A, which is another file's name");
}

TEST_CASE("a folder is measured up to its limits") {
  const TestFolder test_folder;
  const auto folder = test_folder / "work";
  fs::create_directories(folder);
  for (int i = 0; i < 10; ++i) write(folder / std::to_string(i), std::string(10'000, 'x'));
  const auto whole = measure_folder(folder, 1 << 30, 1000);
  CHECK(whole.inodes == 11);
  CHECK(whole.bytes >= 100'000);
  CHECK(whole.complete);
  CHECK(measure_folder(folder, 1 << 30, 11).complete);
  CHECK_FALSE(measure_folder(folder, 1 << 30, 10).complete);
  CHECK_FALSE(measure_folder(folder, 50'000, 1000).complete);
}

TEST_CASE("a folder is removed with locked folders, odd names, and what links point to stays") {
  const TestFolder test_folder;
  const auto folder = test_folder / "guest";
  const auto outside = test_folder / "outside";
  fs::create_directories(outside);
  write(outside / "precious", "x");
  fs::create_directories(folder / "locked/inner");
  write(folder / "locked/inner/file", "x");
  write(folder / "new\nline \xff", "x");
  fs::create_directory_symlink(outside, folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");
  ::mkfifo((folder / "fifo").c_str(), 0600);
  ::chmod((folder / "locked/inner").c_str(), 0);
  ::chmod((folder / "locked").c_str(), 0);
  ::chmod(folder.c_str(), 0);
  remove_folder(folder);
  CHECK_FALSE(fs::exists(folder));
  CHECK(fs::exists(outside / "precious"));
}

TEST_CASE("a tree deeper than any path and any number of descriptors is removed") {
  const TestFolder test_folder;
  const auto folder = test_folder / "guest";
  fs::create_directories(folder);
  int at = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth < 3000; ++depth) {
    REQUIRE(::mkdirat(at, "deep", 0755) == 0);
    const int next = ::openat(at, "deep", O_RDONLY | O_DIRECTORY);
    REQUIRE(next >= 0);
    ::close(at);
    at = next;
  }
  ::close(at);
  CHECK(measure_folder(folder, 1 << 30, 100'000).inodes > 100'000);
  CHECK_FALSE(made_since({}, folder, kFolderMiB).left_out.empty());
  remove_folder(folder);
  CHECK_FALSE(fs::exists(folder));
}

TEST_CASE("the apparent sizes of made files add up to at most the limit") {
  const TestFolder test_folder;
  const auto folder = test_folder / "work";
  fs::create_directories(folder);
  for (const auto* const name : {"a", "b"}) {
    write(folder / name, "");
    fs::resize_file(folder / name, kFolderMiB / 2);
  }
  CHECK(made_since({}, folder, kFolderMiB).paths == std::vector<std::string>{"a", "b"});
  const auto made = made_since({}, folder, kFolderMiB - 1);
  CHECK(made.paths.size() == 1);
  REQUIRE(made.left_out.size() == 1);
  CHECK(made.left_out[0].starts_with("too_large: "));
}
