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
#include "tests/fuzz/checkpoints.h"

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

std::string bytes_of(int file) {
  return fuzz::bytes_in(file);
}

// Writes a checkpoint; its chunks become those that `known` has.
std::string written(const Stream& stream, KnownCheckpoints* known = nullptr) {
  const Descriptor file{::memfd_create("chunks", 0)};
  ChunkWriter writer(file.get(), known);
  for (const auto& piece : stream.pieces) writer.put(piece.data(), piece.size());
  CHECK(writer.count() == stream.all().size());
  CHECK(writer.finish(encode(CheckpointManifest{})));
  if (known != nullptr) {
    Descriptor table{::memfd_create("table", 0)};
    CHECK(write_table(table.get(), {.chunks = writer.chunks()}));
    known->add(1, std::move(table));
    known->confirm(1);
    known->update();
  }
  return bytes_of(file.get());
}

// A reader of a file with these bytes.
class Reading {
 public:
  explicit Reading(const std::string& bytes)
      : file_(fuzz::file_with(bytes)), reader_(ChunkReader::of(file_.get())) {}
  explicit operator bool() const { return reader_.has_value(); }
  ChunkReader* operator->() { return &*reader_; }
  ChunkReader& operator*() { return *reader_; }
  const std::string& error() const { return reader_.error(); }

 private:
  Descriptor file_;
  std::expected<ChunkReader, std::string> reader_;
};

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
  Reading reader(file);
  REQUIRE(reader);
  for (const auto& one : reader->file().chunks()) names.insert(one.name);
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

TEST_CASE("what was put into chunks comes out of them, and each chunk has its own name") {
  for (const std::size_t large :
       {std::size_t{0}, std::size_t{8096}, std::size_t{300000}, std::size_t{5 << 20}}) {
    const auto stream = Stream(1).values(30000).vector(large, 2).values(40);
    Reading reader(written(stream));
    REQUIRE(reader);
    CHECK(reader->is_intact());
    const auto all = read_whole(*reader);
    REQUIRE(all == stream.all());
    std::size_t at = 0;
    for (const auto& chunk : reader->file().chunks()) {
      CHECK(chunk.length <= limits::kChunkBytesMax);
      CHECK(sha256(std::string_view(all).substr(at, chunk.length)) == volunteer::bytes_of(chunk.name));
      at += chunk.length;
    }
    CHECK(at == all.size());
  }
}

TEST_CASE("a vector may begin anywhere in a chunk, and be as long as it likes") {
  for (std::size_t before = 0; before <= limits::kChunkBytesMax + 8000; before += 8000) {
    for (const std::size_t length : {9000, 200'000, 262'144, 300'000, 1'048'576, 1'500'000}) {
      Stream stream(1);
      // Few ends of values, so few places for a cut.
      for (std::size_t at = 0; at < before; at += 8000)
        stream.pieces.emplace_back(8000, static_cast<char>(at));
      stream.values(1).vector(length, 2).values(3);
      Reading reader(written(stream));
      REQUIRE(reader);
      CHECK(reader->is_intact());
      CHECK(read_whole(*reader) == stream.all());
    }
  }
}

TEST_CASE("what is skipped is what would have been read") {
  const auto stream = Stream(9).values(20000).vector(3 << 20, 4).values(20000);
  const auto all = stream.all();
  const auto file = written(stream);
  std::mt19937_64 random(13);
  for (int i = 0; i < 20; ++i) {
    Reading reader(file);
    const std::uint64_t first = random() % 100000;
    const std::uint64_t over = random() % (all.size() - first);
    std::string head(first, '\0');
    REQUIRE(reader->read(head.data(), head.size()));
    REQUIRE(reader->skip(over));
    CHECK(read_whole(*reader) == std::string_view(all).substr(first + over));
  }
}

TEST_CASE("reading past the end is told, and so is everything after it") {
  const auto file = written(Stream(1).values(10));
  Reading reader(file);
  std::string all(Stream(1).values(10).all().size(), '\0');
  CHECK(reader->read(all.data(), all.size()));
  char one = 'x';
  CHECK_FALSE(reader->read(&one, 1));
  CHECK(one == '\0');
  CHECK_FALSE(reader->skip(1));
  CHECK(reader->read_some(1).empty());
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
    Reading reader(damaged);
    CHECK_MESSAGE((!reader || !reader->is_intact()), at);
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{5}, file.size() / 2, file.size() - 1}) {
    const auto cut = file.substr(0, length);
    CHECK_FALSE(Reading(cut));
  }
}

TEST_CASE("a file that cannot be written is told") {
  const int full = ::open("/dev/full", O_WRONLY);
  ChunkWriter writer(full);
  writer.number(1);
  CHECK_FALSE(writer.finish(encode(CheckpointManifest{})));
  ::close(full);
}

TEST_CASE("chunks of a confirmed checkpoint are written without their frames") {
  KnownCheckpoints known;
  auto stream = Stream(3).values(200000).vector(4 << 20, 5).values(2000);
  const auto first = written(stream, &known);
  stream.pieces[1000] = "something of another length";
  const auto second = written(stream, &known);
  CHECK(second.size() < first.size() / 5);
  CHECK(Reading(second).error() == "the checkpoint refers to an earlier one that is not here");
  // The frames that are left out are those of the first.
  const auto all = fuzz::file_with(first);
  const auto base = CheckpointFile::open(all.get());
  const auto changed = fuzz::file_with(second);
  const auto file = CheckpointFile::open(changed.get());
  REQUIRE((base && file));
  std::vector<ChunkHash> names;
  for (const auto& chunk : file->chunks()) names.push_back(chunk.name);
  const auto whole = fuzz::file_with("");
  const auto frame = [&](std::size_t i) -> std::optional<std::string> {
    if (auto here = file->frame(i)) return here;
    for (std::size_t k = 0; k < base->chunks().size(); ++k)
      if (base->chunks()[k].name == names[i]) return base->frame(k);
    return std::nullopt;
  };
  REQUIRE(assemble_checkpoint(whole.get(), file->manifest_text(), names, frame) == "");
  CHECK(read_whole(*Reading(bytes_of(whole.get()))) == stream.all());
  known.forget();
  known.update();
  CHECK(Reading(written(stream, &known)));
}

TEST_CASE("plain bytes have chunks of their own, and those of an earlier checkpoint are referred to") {
  const Descriptor file{::memfd_create("chunks", 0)};
  ChunkWriter writer(file.get());
  writer.number(std::uint64_t{7});
  writer.end_chunk();
  writer.put_plain(std::string(limits::kChunkBytesMax + 1, 'x'));
  writer.end_chunk();
  REQUIRE(writer.chunks().size() == 3);
  CHECK(writer.chunks()[0].length == 8);
  CHECK(writer.chunks()[1].length == limits::kChunkBytesMax);
  CHECK(writer.chunks()[2].length == 1);
  const auto earlier = writer.chunks();
  writer.refer_to(std::span(earlier).subspan(1));
  CHECK(writer.count() == 8 + 2 * (limits::kChunkBytesMax + 1));
  REQUIRE(writer.finish(encode(CheckpointManifest{})));
  const auto read = CheckpointFile::open(file.get());
  REQUIRE(read);
  CHECK(read->chunks()[3].name == earlier[1].name);
  CHECK(read->chunks()[3].stored == 0);
}

}  // namespace remotist::volunteer::checkpoint
