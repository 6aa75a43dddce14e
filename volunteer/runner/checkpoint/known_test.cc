#include "volunteer/runner/checkpoint/known.h"

#include <doctest/doctest.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/checkpoints.h"

namespace remotist::volunteer::checkpoint {

namespace {

CheckpointTable some_table() {
  CheckpointTable table;
  for (const std::string contents : {"one", "two", "three"}) {
    table.chunks.push_back({.hash = fast_hash(contents),
                            .name = name_of_chunk(contents),
                            .length = static_cast<std::uint32_t>(contents.size())});
  }
  table.runs = {{.first = 1, .chunks = 2, .length = 8}};
  table.files = {{.path = "work/a", .version = {.size = 3}, .settled = true, .run = 0, .offset = 5},
                 {.path = "work/empty"}};
  return table;
}

Descriptor file_of(const CheckpointTable& table) {
  Descriptor file{::memfd_create("table", MFD_CLOEXEC)};
  CHECK(write_table(file.get(), table));
  return file;
}

}  // namespace

TEST_CASE("a table is read as it was written") {
  const auto read = read_table(file_of(some_table()).get());
  REQUIRE(read);
  CHECK(read->chunks == some_table().chunks);
  CHECK(read->runs == some_table().runs);
  CHECK(read->files == some_table().files);
}

TEST_CASE("a table that was cut, or whose indices do not fit, is none") {
  const auto bytes = fuzz::bytes_in(file_of(some_table()).get());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(read_table(fuzz::file_with(bytes.substr(0, length)).get()));
  auto table = some_table();
  table.runs[0].first = 2;
  CHECK_FALSE(read_table(file_of(table).get()));
  table = some_table();
  table.files[0].offset = 6;
  CHECK_FALSE(read_table(file_of(table).get()));
  table = some_table();
  table.files[0].run = 1;
  CHECK_FALSE(read_table(file_of(table).get()));
}

TEST_CASE("only a confirmed checkpoint is known, and of those the last one") {
  KnownCheckpoints known;
  known.add(1, file_of(some_table()));
  known.update();
  CHECK(known.base() == nullptr);
  known.confirm(2);
  known.update();
  CHECK(known.base() == nullptr);
  known.add(3, file_of(some_table()));
  known.add(4, file_of({}));
  known.confirm(3);
  known.update();
  REQUIRE(known.base() != nullptr);
  CHECK(known.find_chunk(fast_hash("two"), 3) != nullptr);
  CHECK(known.find_chunk(fast_hash("two"), 4) == nullptr);
  CHECK(known.find_chunk(fast_hash("four"), 4) == nullptr);
  CHECK(known.find_file("work/a") != nullptr);
  CHECK(known.find_file("work/b") == nullptr);
  known.confirm(4);
  known.update();
  CHECK(known.find_chunk(fast_hash("two"), 3) == nullptr);
  CHECK(known.find_file("work/a") == nullptr);
}

TEST_CASE("of unconfirmed checkpoints the last four are known") {
  KnownCheckpoints known;
  for (std::uint64_t number = 1; number <= 1 + KnownCheckpoints::kUnconfirmedMax; ++number)
    known.add(number, file_of(some_table()));
  known.confirm(1);
  known.update();
  CHECK(known.base() == nullptr);
  known.confirm(2);
  known.update();
  CHECK(known.base() != nullptr);
}

TEST_CASE("a checkpoint whose table was not written is not known") {
  KnownCheckpoints known;
  known.add(1, Descriptor{::memfd_create("table", MFD_CLOEXEC)});
  known.confirm(1);
  known.update();
  CHECK(known.base() == nullptr);
}

TEST_CASE("what is forgotten stays so until a later checkpoint is confirmed") {
  KnownCheckpoints known;
  known.add(1, file_of(some_table()));
  known.confirm(1);
  known.update();
  known.add(2, file_of(some_table()));
  known.forget();
  known.update();
  CHECK(known.base() == nullptr);
  known.confirm(2);
  known.update();
  CHECK(known.base() == nullptr);
  known.add(3, file_of(some_table()));
  known.confirm(3);
  known.update();
  CHECK(known.base() != nullptr);
}

}  // namespace remotist::volunteer::checkpoint
