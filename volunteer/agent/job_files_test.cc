#include "volunteer/agent/job_files.h"

#include <doctest/doctest.h>
#include <fstream>
#include <sys/stat.h>

#include "volunteer/agent/scratch_folder.h"

namespace remotist::volunteer {
namespace fs = std::filesystem;

TEST_CASE("a file is written with the folders above it, and read back") {
  const ScratchFolder scratch;
  FileWriter writer{scratch.path, "a/b/c.txt"};
  writer.append("one ");
  writer.append("two");
  writer.close();
  FileReader reader{scratch.path, "a/b/c.txt"};
  CHECK(reader.size() == 7);
  CHECK(reader.read(4) == "one ");
  CHECK(reader.read(100) == "two");
  CHECK(reader.read(100).empty());
}

TEST_CASE("neither writing nor reading follows a link, nor waits for a pipe") {
  const ScratchFolder scratch;
  const ScratchFolder outside;
  std::ofstream{outside.path / "secret"} << "secret";
  fs::create_symlink(outside.path, scratch.path / "way");
  fs::create_symlink(outside.path / "secret", scratch.path / "link");
  REQUIRE(::mkfifo((scratch.path / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS((FileWriter{scratch.path, "way/new"}));
  CHECK_THROWS((FileWriter{scratch.path, "link"}));
  CHECK_THROWS((FileWriter{scratch.path, "../new"}));
  CHECK_THROWS((FileReader{scratch.path, "way/secret"}));
  CHECK_THROWS((FileReader{scratch.path, "link"}));
  CHECK_THROWS((FileReader{scratch.path, "pipe"}));
  CHECK_THROWS((FileReader{scratch.path, "nothing"}));
  CHECK(fs::exists(outside.path / "secret"));
  CHECK_FALSE(fs::exists(outside.path / "new"));
}

TEST_CASE("a file that grows while it is read is read as long as it was") {
  const ScratchFolder scratch;
  std::ofstream{scratch.path / "log"} << "four";
  FileReader reader{scratch.path, "log"};
  std::ofstream{scratch.path / "log", std::ios::app} << " and more";
  CHECK(reader.size() == 4);
  CHECK(reader.read(3) == "fou");
  CHECK(reader.read(100) == "r");
  CHECK(reader.read(100).empty());
}

}  // namespace remotist::volunteer
