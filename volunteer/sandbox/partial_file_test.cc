#include "volunteer/sandbox/partial_file.h"

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
    std::string name = (fs::temp_directory_path() / "partial-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(out());
  }
  ~Guest() { fs::remove_all(folder_); }
  fs::path out() const { return folder_ / "out"; }
  void put(const char* name, const char* text) const { std::ofstream{out() / name} << text; }
  std::optional<std::int64_t> size_of(const char* name) const {
    const Descriptor folder{open_folder(folder_)};
    return partial_file_size(folder.get(), name);
  }

 private:
  fs::path folder_;
};

}  // namespace

TEST_CASE("a file that is not a plain regular file has no size") {
  const Guest guest;
  guest.put("result.rds", "x");
  guest.put("partial-1", "x");
  fs::create_symlink(guest.out() / "result.rds", guest.out() / "partial-2");
  fs::create_hard_link(guest.out() / "result.rds", guest.out() / "partial-3");
  fs::create_directory(guest.out() / "partial-4");
  ::mkfifo((guest.out() / "partial-5").c_str(), 0600);
  for (const auto* const name :
       {"partial-2", "partial-3", "partial-4", "partial-5", "partial-6", "result.rds", "../out/partial-1",
        "partial-", "partial-1x", "partial-1234567890123", ""}) {
    CAPTURE(name);
    CHECK_FALSE(guest.size_of(name).has_value());
  }
  CHECK(guest.size_of("partial-1") == 1);
}

TEST_CASE("a value's file may be as large as its limit, and no larger") {
  const Guest guest;
  guest.put("partial-1", "");
  fs::resize_file(guest.out() / "partial-1", limits::kWatchedFileBytesMax);
  CHECK(guest.size_of("partial-1").has_value());
  fs::resize_file(guest.out() / "partial-1", limits::kWatchedFileBytesMax + 1);
  CHECK_FALSE(guest.size_of("partial-1").has_value());
}

}  // namespace remotist::volunteer
