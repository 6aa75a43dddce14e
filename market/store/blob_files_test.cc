#include "market/store/blob_files.h"

#include <doctest/doctest.h>
#include <fstream>

using namespace remotist;
using namespace remotist::market;
namespace fs = std::filesystem;

namespace {

// A folder that goes with the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("remotist-" + hex_of(random_bytes(8)));
  ~Folder() { fs::remove_all(path); }
};

BlobFile file_of(std::string_view bytes) {
  return {ChunkName::of(bytes), GenerationId::make()};
}

std::size_t files_in(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator{folder}) count += entry.is_regular_file();
  return count;
}

}  // namespace

TEST_CASE("a file comes back as it was written, and goes when it is removed") {
  const Folder folder;
  const BlobFiles files{folder.path};
  const BlobFile file = file_of("abc");
  CHECK_FALSE(files.read(file).has_value());
  const std::string bytes{"a\0b", 3};
  files.write(file, bytes);
  CHECK(files.read(file) == bytes);
  CHECK(BlobFiles{folder.path}.read(file) == bytes);
  files.remove(file);
  CHECK_FALSE(files.read(file).has_value());
  files.remove(file);  // once more: no harm
  CHECK(files_in(folder.path) == 0);
}

TEST_CASE("generations of one chunk are files of their own") {
  const Folder folder;
  const BlobFiles files{folder.path};
  const BlobFile older = file_of("abc");
  const BlobFile newer{older.chunk, GenerationId::make()};
  files.write(older, "1");
  files.write(newer, "2");
  files.remove(older);
  CHECK(files.read(newer) == "2");
}

TEST_CASE("a write that fails says so and leaves nothing") {
  const Folder folder;
  const BlobFiles files{folder.path};
  const BlobFile file = file_of("abc");
  fs::remove(folder.path / file.chunk.hex().substr(0, 2));
  CHECK_THROWS_AS(files.write(file, "x"), std::system_error);
  CHECK_FALSE(files.read(file).has_value());
  CHECK(files_in(folder.path) == 0);
}

TEST_CASE("old files are listed, young ones are not, and what cut-off writes left is deleted") {
  const Folder folder;
  const BlobFiles files{folder.path};
  const BlobFile file = file_of("abc");
  files.write(file, "x");
  const auto shard_folder = folder.path / file.chunk.hex().substr(0, 2);
  std::ofstream{shard_folder / "tmp-0123"} << "half";
  std::ofstream{shard_folder / "notes.txt"} << "somebody's own";
  const int shard = std::stoi(file.chunk.hex().substr(0, 2), nullptr, 16);
  CHECK(files.older_than(std::chrono::hours{1}, shard).empty());
  CHECK(files_in(folder.path) == 3);
  CHECK(files.older_than(std::chrono::seconds{-1}, shard) == std::vector{file});
  CHECK(files_in(folder.path) == 2);
}

TEST_CASE("a folder belongs to the database that came first") {
  const Folder folder;
  const BlobFiles files{folder.path};
  files.claim_for("one");
  files.claim_for("one");
  CHECK_THROWS_WITH_AS(files.claim_for("two"), doctest::Contains("another database"), std::runtime_error);
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("a damaged file is set aside and counts no longer") {
  const Folder folder;
  const BlobFiles files{folder.path};
  const BlobFile file = file_of("abc");
  files.write(file, "x");
  CHECK(files.exists(file));
  files.set_aside(file);
  CHECK_FALSE(files.exists(file));
  CHECK(files_in(folder.path) == 1);
}
