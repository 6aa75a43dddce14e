#include "volunteer/sandbox/checkpoint_file.h"

#include <cstddef>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <limits>
#include <random>
#include <string>
#include <unistd.h>

#include "core/limits.h"
#include "core/zstd.h"
#include "tests/fuzz/checkpoints.h"
#include "tests/fuzz/corpus.h"
#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

namespace {

using fuzz::bytes_in;
using fuzz::file_with;
using fuzz::with_right_hash;

const std::vector<std::string> kContents{"the state", std::string(70'000, 'x'), "a file"};

CheckpointManifest some_manifest() {
  return {.r_version = "4.5.0",
          .architecture = "x86_64",
          .packages = {"MASS 7.3-65"},
          .state_bytes = 9,
          .file = "main.R",
          .line = 12,
          .call = "fit",
          .pause_ms = 1.5,
          .child_cpu_ms = 20,
          .files = 1,
          .files_read = 1};
}

// `absent`: the index of a chunk whose frame is left out.
std::string some_file(std::size_t absent = std::numeric_limits<std::size_t>::max(),
                      const std::string& manifest = encode(some_manifest())) {
  const auto file = file_with("");
  CheckpointFileWriter writer{file.get()};
  for (std::size_t i = 0; i < kContents.size(); ++i)
    writer.add(name_of_chunk(kContents[i]), kContents[i].size(),
               i == absent ? "" : zstd_compress(kContents[i]));
  CHECK(writer.finish(manifest));
  return bytes_in(file.get());
}

// Why it is refused; "" when it is not.
std::string refusal_of(std::string_view bytes) {
  const auto file = file_with(bytes);
  const auto read = CheckpointFile::open(file.get());
  return read ? "" : read.error();
}

void put(std::string& file, std::size_t at, auto number) {
  file.replace(at, sizeof number, reinterpret_cast<const char*>(&number), sizeof number);
}

std::size_t end_of(const std::string& file) {
  return file.size() - 48;
}
std::size_t table_of(const std::string& file) {
  return end_of(file) - encode(some_manifest()).size() - kContents.size() * sizeof(CheckpointChunk);
}

}  // namespace

TEST_CASE("a checkpoint's file yields its manifest, its table and each chunk") {
  const auto bytes = some_file();
  const auto file = file_with(bytes);
  const auto read = CheckpointFile::open(file.get());
  REQUIRE(read);
  CHECK(read->manifest() == some_manifest());
  CHECK(read->is_whole());
  REQUIRE(read->chunks().size() == kContents.size());
  for (std::size_t i = 0; i < kContents.size(); ++i) {
    CHECK(read->contents(i) == kContents[i]);
    CHECK(read->chunks()[i].name == name_of_chunk(kContents[i]));
  }
}

TEST_CASE("a chunk whose frame an earlier checkpoint has is told, and the file is not whole") {
  const auto file = file_with(some_file(1));
  const auto read = CheckpointFile::open(file.get());
  REQUIRE(read);
  CHECK_FALSE(read->is_whole());
  CHECK(read->chunks()[1].stored == 0);
  CHECK(read->chunks()[1].length == kContents[1].size());
  CHECK_FALSE(read->frame(1));
  CHECK_FALSE(read->contents(1));
  CHECK(read->contents(2) == kContents[2]);
}

TEST_CASE("a whole checkpoint is assembled from its manifest and its chunks") {
  const auto bytes = some_file();
  std::vector<ChunkHash> names;
  for (const auto& contents : kContents) names.push_back(name_of_chunk(contents));
  const auto frame = [](std::size_t i) -> std::optional<std::string> { return zstd_compress(kContents[i]); };
  const auto assembled = [&](const auto& frame_of, const std::string& manifest = encode(some_manifest())) {
    const auto file = file_with("");
    const auto problem = assemble_checkpoint(file.get(), manifest, names, frame_of);
    return problem.empty() ? bytes_in(file.get()) : problem;
  };
  CHECK(assembled(frame) == bytes);
  CHECK(assembled([](std::size_t) { return std::nullopt; }) == "chunk 1 of the checkpoint is missing");
  CHECK(assembled([&](std::size_t i) { return frame(i == 0 ? 2 : i); }) ==
        "chunk 1 of the checkpoint is damaged");
  CHECK(assembled([](std::size_t) { return std::optional<std::string>("no frame"); }) ==
        "chunk 1 of the checkpoint is damaged");
  CHECK(assembled(frame, "{}") == "the checkpoint's manifest has another form");
  auto longer = some_manifest();
  longer.state_bytes = 1'000'000;
  CHECK(assembled(frame, encode(longer)) == "the checkpoint's state is longer than its chunks");
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  CHECK(assemble_checkpoint(full, encode(some_manifest()), names, frame) ==
        "the checkpoint cannot be written to the disc");
  ::close(full);
}

TEST_CASE("a file that was cut anywhere is refused with a reason") {
  const auto bytes = some_file();
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK(refusal_of(bytes.substr(0, length)) != "");
  CHECK(refusal_of("") == "the checkpoint is damaged: it does not begin as one");
  CHECK(refusal_of("remotist checkpoint 2\n" + bytes.substr(22)) ==
        "the checkpoint has another format than this program reads");
}

TEST_CASE("a file that is shortened while it is read yields no chunk that it does not have") {
  const auto bytes = some_file();
  const auto file = file_with(bytes);
  const auto read = CheckpointFile::open(file.get());
  REQUIRE(read);
  CHECK(::ftruncate(file.get(), 30) == 0);
  CHECK_FALSE(read->frame(1));
  CHECK_FALSE(read->contents(0));
}

TEST_CASE("a changed byte is noticed: in the table and the manifest at once, in a frame when it is read") {
  const auto bytes = some_file();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    const auto file = file_with(changed);
    const auto read = CheckpointFile::open(file.get());
    if (at >= table_of(bytes)) CHECK_FALSE(read);
    bool intact = read.has_value();
    for (std::size_t i = 0; read && i < kContents.size(); ++i) intact = intact && read->contents(i);
    CHECK_FALSE(intact);
  }
}

TEST_CASE("a table that was forged together with its hash claims nothing that the file has not") {
  const auto bytes = some_file();
  const auto forged = [&](std::size_t at, auto number) {
    auto file = bytes;
    put(file, at, number);
    return refusal_of(with_right_hash(file));
  };
  const auto entry = table_of(bytes) + sizeof(CheckpointChunk);
  const auto length = entry + 32;
  const auto stored = entry + 36;
  CHECK(forged(length, std::uint32_t{0}) == "the checkpoint is damaged: a chunk has no such length");
  CHECK(forged(length, static_cast<std::uint32_t>(limits::kChunkBytesMax) + 1) ==
        "the checkpoint is damaged: a chunk has no such length");
  CHECK(forged(length, std::uint32_t{0xffffffff}) == "the checkpoint is damaged: a chunk has no such length");
  CHECK(forged(stored, std::uint32_t{0xffffffff}) == "the checkpoint is damaged: a frame is too long");
  CHECK(forged(stored, std::uint32_t{1'000'000}) ==
        "the checkpoint is damaged: its frames are not those of its table");
  CHECK(forged(stored, std::uint32_t{0}) ==
        "the checkpoint is damaged: its frames are not those of its table");
  for (const std::uint64_t count :
       {std::uint64_t{limits::kCheckpointFileChunksMax} + 1, std::uint64_t{1} << 60,
        std::uint64_t{0x0666666666666667}, ~std::uint64_t{0}})
    CHECK(forged(end_of(bytes), count) == "the checkpoint is damaged: it has too many chunks");
  CHECK(forged(end_of(bytes), std::uint64_t{limits::kCheckpointFileChunksMax}) ==
        "the checkpoint is damaged: its table does not fit it");
  CHECK(forged(end_of(bytes) + 8, std::uint64_t{limits::kCheckpointManifestBytesMax} + 1) ==
        "the checkpoint is damaged: its manifest is too long");
  CHECK(forged(end_of(bytes) + 8, ~std::uint64_t{0}) ==
        "the checkpoint is damaged: its manifest is too long");
}

TEST_CASE("a table in another order yields none of the chunks that it names wrongly") {
  auto bytes = some_file();
  const auto table = table_of(bytes);
  const auto first = bytes.substr(table, sizeof(CheckpointChunk));
  bytes.replace(table, first.size(), bytes.substr(table + 2 * first.size(), first.size()));
  bytes.replace(table + 2 * first.size(), first.size(), first);
  const auto file = file_with(with_right_hash(bytes));
  const auto read = CheckpointFile::open(file.get());
  REQUIRE(read);
  CHECK_FALSE(read->contents(0));
  CHECK_FALSE(read->contents(2));
}

TEST_CASE("a manifest of another form, or longer than it may be, is refused") {
  const auto manifest = some_manifest();
  CHECK(parse_checkpoint_manifest(encode(manifest)) == manifest);
  const auto refused = [](const std::string& text) { return !parse_checkpoint_manifest(text); };
  CHECK(refused(""));
  CHECK(refused("[]"));
  CHECK(refused(std::string(1'000'000, '[')));
  CHECK(refused(encode(manifest) + " 1"));
  const auto changed = [&](std::string_view from, std::string_view to) {
    auto text = encode(manifest);
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK_FALSE(refused(changed("12", "13")));
  CHECK(refused(changed("\"format\":3", "\"format\":4")));
  CHECK(refused(changed("\"line\":12", "\"line\":-1")));
  CHECK(refused(changed("\"line\":12", "\"line\":1e99")));
  CHECK(refused(changed("\"line\":12", "\"line\":18446744073709551615")));
  CHECK(refused(changed("\"line\":12", "\"lines\":12")));
  CHECK(refused(changed("\"line\":12,", "")));
  CHECK(refused(changed("\"line\":12,", "\"line\":12,\"more\":1,")));
  CHECK(refused(changed("\"pause_ms\":1.5", "\"pause_ms\":-1.5")));
  CHECK(refused(changed("fit", "f\\u0000t")));
  CHECK(refused(changed("fit", std::string(limits::kCheckpointCallBytesMax + 1, 'f'))));
  CHECK_FALSE(refused(changed("fit", std::string(limits::kCheckpointCallBytesMax, 'f'))));
  auto many = manifest;
  many.packages.assign(limits::kPackagesMax, std::string(limits::kPackageBytesMax, 'p'));
  CHECK(parse_checkpoint_manifest(encode(many)) == many);
  many.packages.emplace_back("one more");
  CHECK(refused(encode(many)));
  CHECK(refusal_of(some_file(5, "{}")) == "the checkpoint is damaged: its manifest has another form");
}

TEST_CASE("texts that do not fit a manifest are shortened and made clean when it is written") {
  auto manifest = some_manifest();
  manifest.call = std::string(1000, 'c') + "\x01";
  manifest.file = "a\x01\xff";
  const auto read = parse_checkpoint_manifest(encode(manifest));
  REQUIRE(read);
  CHECK(read->call == std::string(limits::kCheckpointCallBytesMax, 'c'));
  CHECK(read->file == "a??");
}

TEST_CASE("a file with one chunk more than the limit is not written") {
  const auto write = [](std::size_t count) {
    const auto file = file_with("");
    CheckpointFileWriter writer{file.get()};
    for (std::size_t i = 0; i < count; ++i) writer.add(name_of_chunk("x"), 1, {});
    return writer.finish(encode(CheckpointManifest{}));
  };
  CHECK(write(limits::kCheckpointFileChunksMax));
  CHECK_FALSE(write(limits::kCheckpointFileChunksMax + 1));
}

TEST_CASE("files that the fuzzer starts from, or once found, do not break the reader") {
  fuzz::check_corpus("checkpoints", fuzz::checkpoints_broken_by);
}

TEST_CASE("random changes of a file do not break the reader") {
  const auto bytes = some_file();
  std::mt19937 random{17};
  for (int i = 0; i < 2000; ++i) {
    auto changed = bytes;
    for (int n = 0; n < 3; ++n) changed[changed.size() - 1 - random() % 400] = static_cast<char>(random());
    CHECK(fuzz::checkpoints_broken_by(changed) == "");
  }
}

}  // namespace remotist::volunteer
