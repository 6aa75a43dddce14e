#include "volunteer/sandbox/watched_file.h"

#include <doctest/doctest.h>
#include <fstream>
#include <sys/stat.h>

#include "core/limits.h"
#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/folder.h"

namespace remotist::volunteer {

namespace {

namespace fs = std::filesystem;

class Guest {
 public:
  Guest() {
    std::string name = (fs::temp_directory_path() / "watched-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(out());
  }
  ~Guest() { fs::remove_all(folder_); }
  fs::path out() const { return folder_ / "out"; }
  void put(const char* name, const char* text) const { std::ofstream{out() / name} << text; }
  std::optional<std::int64_t> size_of(const char* name) const {
    const Descriptor folder{open_folder(folder_)};
    return watched_file_size(folder.get(), name);
  }

 private:
  fs::path folder_;
};

}  // namespace

TEST_CASE("a file that is not a plain regular file has no size") {
  const Guest guest;
  guest.put("result.rds", "x");
  guest.put("watched-1", "x");
  fs::create_symlink(guest.out() / "result.rds", guest.out() / "watched-2");
  fs::create_hard_link(guest.out() / "result.rds", guest.out() / "watched-3");
  fs::create_directory(guest.out() / "watched-4");
  ::mkfifo((guest.out() / "watched-5").c_str(), 0600);
  for (const auto* const name :
       {"watched-2", "watched-3", "watched-4", "watched-5", "watched-6", "result.rds", "../out/watched-1",
        "watched-", "watched-1x", "watched-1234567890123", ""}) {
    CAPTURE(name);
    CHECK_FALSE(guest.size_of(name).has_value());
  }
  CHECK(guest.size_of("watched-1") == 1);
}

TEST_CASE("a value's file may be as large as its limit, and no larger") {
  const Guest guest;
  guest.put("watched-1", "");
  fs::resize_file(guest.out() / "watched-1", limits::kWatchedFileBytesMax);
  CHECK(guest.size_of("watched-1").has_value());
  fs::resize_file(guest.out() / "watched-1", limits::kWatchedFileBytesMax + 1);
  CHECK_FALSE(guest.size_of("watched-1").has_value());
}

}  // namespace remotist::volunteer
