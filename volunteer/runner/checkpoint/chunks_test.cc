#include "volunteer/runner/checkpoint/chunks.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <memory>
#include <random>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/limits.h"
#include "core/sha256.h"

namespace remotist::volunteer::checkpoint {

namespace {

// What R's serialize hands out: small values, and vectors in parts.
class Stream {
 public:
  explicit Stream(unsigned seed) : random_(seed) {}

  Stream& values(int count) {
    for (int i = 0; i < count; ++i) {
      std::string value(1 + random_() % 12, '\0');
      for (char& c : value) c = static_cast<char>(random_() % 64);
      pieces.push_back(value);
    }
    return *this;
  }
  Stream& vector(std::size_t bytes, unsigned seed) {
    std::mt19937_64 own(seed);
    constexpr std::size_t kPart = 8096 * sizeof(double);
    for (std::size_t left = bytes; left > 0;) {
      std::string part(std::min(left, kPart), '\0');
      for (char& c : part) c = static_cast<char>(own());
      left -= part.size();
      pieces.push_back(part);
    }
    return *this;
  }
  [[nodiscard]] std::string all() const {
    std::string text;
    for (const auto& one : pieces) text += one;
    return text;
  }

  std::vector<std::string> pieces;

 private:
  std::mt19937_64 random_;
};

std::string written(const Stream& stream, std::uint64_t number = 0) {
  const int file = ::memfd_create("chunks", 0);
  ChunkWriter writer(file);
  for (const auto& piece : stream.pieces) writer.put(piece.data(), piece.size());
  CHECK(writer.count() == stream.all().size());
  CHECK(writer.finish(number));
  std::string bytes(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)), '\0');
  CHECK(::pread(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  ::close(file);
  return bytes;
}

std::string read_whole(ChunkReader reader) {
  std::string text;
  while (true) {
    const auto piece = reader.read_some(5000);
    if (piece.empty()) return text;
    text += piece;
  }
}

using Names = std::set<std::array<char, 32>>;
Names names_in(const std::string& file) {
  Names names;
  const auto reader = ChunkReader::of(file);
  REQUIRE(reader);
  for (const auto& one : reader->chunks()) names.insert(one.name);
  return names;
}
// The share of chunks in `later` that `earlier` has.
double kept(const std::string& earlier, const std::string& later) {
  const auto before = names_in(earlier);
  const auto after = names_in(later);
  std::size_t same = 0;
  for (const auto& one : after) same += before.count(one);
  return static_cast<double>(same) / static_cast<double>(after.size());
}

}  // namespace

TEST_CASE("what was put into chunks comes out of them, with its number, and each chunk has its own name") {
  for (const std::size_t large :
       {std::size_t{0}, std::size_t{8096}, std::size_t{300000}, std::size_t{5 << 20}}) {
    const auto stream = Stream(1).values(30000).vector(large, 2).values(40);
    const auto file = written(stream, 4711);
    const auto reader = ChunkReader::of(file);
    REQUIRE(reader);
    CHECK(reader->number() == 4711);
    CHECK(reader->is_intact());
    const auto all = read_whole(*reader);
    REQUIRE(all == stream.all());
    std::size_t at = 0;
    for (const auto& chunk : reader->chunks()) {
      CHECK(chunk.length <= limits::kChunkBytesMax);
      CHECK(sha256(std::string_view(all).substr(at, chunk.length)) ==
            std::string_view(chunk.name.data(), chunk.name.size()));
      at += chunk.length;
    }
    CHECK(at == all.size());
  }
}

TEST_CASE("what is skipped is what would have been read") {
  const auto stream = Stream(9).values(20000).vector(3 << 20, 4).values(20000);
  const auto all = stream.all();
  const auto file = written(stream);
  std::mt19937_64 random(13);
  for (int i = 0; i < 20; ++i) {
    auto reader = ChunkReader::of(file).value();
    const std::uint64_t first = random() % 100000;
    const std::uint64_t over = random() % (all.size() - first);
    std::string head(first, '\0');
    REQUIRE(reader.read(head.data(), head.size()));
    REQUIRE(reader.skip(over));
    CHECK(read_whole(reader) == std::string_view(all).substr(first + over));
  }
}

TEST_CASE("reading past the end is told, and so is everything after it") {
  const auto file = written(Stream(1).values(10));
  auto reader = ChunkReader::of(file).value();
  std::string all(Stream(1).values(10).all().size(), '\0');
  CHECK(reader.read(all.data(), all.size()));
  char one = 'x';
  CHECK_FALSE(reader.read(&one, 1));
  CHECK(one == '\0');
  CHECK_FALSE(reader.skip(1));
  CHECK(reader.read_some(1).empty());
}

TEST_CASE("a large vector that stays as it is keeps its chunks, whatever changes before and after it") {
  const auto before = written(Stream(1).values(500).vector(8 << 20, 7).values(500));
  const auto after = written(Stream(2).values(91000).vector(8 << 20, 7).values(20));
  const auto first = names_in(before);
  std::size_t same = 0;
  for (const auto& name : names_in(after)) same += first.count(name);
  CHECK(same >= 8);
}

TEST_CASE("many small values keep most of their chunks when one among the first of them changes") {
  auto stream = Stream(3).values(600000);
  const auto before = written(stream);
  stream.pieces[1000] = "something of another length";
  CHECK(kept(before, written(stream)) > 0.9);
}

TEST_CASE("damage anywhere in a file is seen before it is read") {
  const auto file = written(Stream(5).values(3000).vector(700000, 3));
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    auto damaged = file;
    // Every byte of the table, as it is short; of the rest some.
    const std::size_t at = i < 150 ? file.size() - 1 - static_cast<std::size_t>(i) : random() % file.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    const auto reader = ChunkReader::of(damaged);
    CHECK_MESSAGE((!reader || !reader->is_intact()), at);
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{5}, file.size() / 2, file.size() - 1}) {
    const auto cut = file.substr(0, length);
    CHECK_FALSE(ChunkReader::of(cut));
  }
}

TEST_CASE("a file that cannot be written is told") {
  const int full = ::open("/dev/full", O_WRONLY);
  ChunkWriter writer(full);
  writer.number(1);
  CHECK_FALSE(writer.finish(0));
  ::close(full);
}

}  // namespace remotist::volunteer::checkpoint
