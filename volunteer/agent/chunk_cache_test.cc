#include "volunteer/agent/chunk_cache.h"

#include <doctest/doctest.h>
#include <fstream>

#include "volunteer/agent/scratch_folder.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

void keep(ChunkCache& cache, const std::string& bytes) {
  cache.store(ChunkName::of(bytes), bytes);
}
bool has(ChunkCache& cache, const std::string& bytes) {
  return cache.find(ChunkName::of(bytes)) == bytes;
}

}  // namespace

TEST_CASE("a full cache evicts the least recently used chunk") {
  const ScratchFolder scratch;
  ChunkCache cache{scratch.path / "cache", 30};
  keep(cache, "0123456789");
  keep(cache, "abcdefghij");
  keep(cache, "ABCDEFGHIJ");
  CHECK(cache.bytes() == 30);
  CHECK(has(cache, "0123456789"));
  keep(cache, "!");
  CHECK_FALSE(has(cache, "abcdefghij"));
  CHECK(has(cache, "0123456789"));
  CHECK(cache.bytes() == 21);
  keep(cache, std::string(31, 'x'));
  CHECK_FALSE(has(cache, std::string(31, 'x')));
}

TEST_CASE("chunks of an earlier agent are reused, and incomplete files are deleted") {
  const ScratchFolder scratch;
  {
    ChunkCache cache{scratch.path, 100};
    keep(cache, "kept");
  }
  std::ofstream{scratch.path / "0123.part"} << "part";
  ChunkCache cache{scratch.path, 100};
  CHECK(has(cache, "kept"));
  CHECK(cache.bytes() == 4);
  CHECK(std::distance(fs::directory_iterator{scratch.path}, fs::directory_iterator{}) == 1);
}

TEST_CASE("a chunk whose file was damaged is a miss, and can be stored again") {
  const ScratchFolder scratch;
  ChunkCache cache{scratch.path, 100};
  keep(cache, "right");
  std::ofstream{scratch.path / ChunkName::of("right").hex()} << "wrong";
  CHECK_FALSE(has(cache, "right"));
  keep(cache, "right");
  CHECK(has(cache, "right"));
}

}  // namespace remotist::volunteer
