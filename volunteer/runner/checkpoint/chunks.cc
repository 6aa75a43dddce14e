#include "volunteer/runner/checkpoint/chunks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/limits.h"
#include "core/zstd.h"

namespace remotist::volunteer::checkpoint {

namespace {

// R's serialize hands out vectors in parts of 8,096 elements, whatever they are.
constexpr std::size_t kPartOfVector = 8096;
constexpr std::size_t kLargeVector = 256 << 10;
constexpr std::size_t kLeast = 64 << 10;
// A vector's own header, and little more, is in the chunk of its first elements.
constexpr std::size_t kHeaderBytesMax = 64;
// One in so many ends of values is a place for a cut.
constexpr std::uint64_t kSeldom = 1 << 12;
// The fastest level: writing time matters more than size.
constexpr int kLevel = 1;

// A number for each byte, all bits of which look random.
constexpr auto kGear = [] {
  std::array<std::uint64_t, 256> numbers{};
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  for (auto& one : numbers) {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    one = mixed ^ (mixed >> 31);
  }
  return numbers;
}();

}  // namespace

ChunkWriter::ChunkWriter(int to, const KnownCheckpoints* known) : file_(to), known_(known) {
  buffer_.reserve(limits::kChunkBytesMax);
}

void ChunkWriter::put(const void* bytes, std::size_t length) {
  const std::string_view piece(static_cast<const char*>(bytes), length);
  count_ += length;
  const bool part = length >= kPartOfVector;
  if (part && !in_vector_) {
    in_vector_ = true;
    vector_from_ = buffer_.size();
  }
  append(piece);
  if (part) return;
  if (in_vector_) {
    // Its last part may be a short one.
    if (is_large_) cut(buffer_.size());
    in_vector_ = is_large_ = false;
    rolling_ = 0;
    return;
  }
  roll(piece);
  if (buffer_.size() >= kLeast && rolling_ % kSeldom == 0) cut(buffer_.size());
}

void ChunkWriter::append(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t some = std::min(piece.size(), limits::kChunkBytesMax - buffer_.size());
    buffer_.append(piece.substr(0, some));
    piece.remove_prefix(some);
    if (in_vector_ && !is_large_) {
      is_large_ = buffer_.size() - vector_from_ >= kLargeVector;
      // A full buffer whose vector is not large yet: what is before the vector has to go, for it may become
      // so.
      const bool is_full = buffer_.size() == limits::kChunkBytesMax;
      if (is_large_ ? vector_from_ > kHeaderBytesMax : is_full) {
        cut(vector_from_);
        vector_from_ = 0;
      }
    }
    if (buffer_.size() == limits::kChunkBytesMax) cut(buffer_.size());
  }
}

void ChunkWriter::roll(std::string_view piece) {
  for (const char c : piece) rolling_ = (rolling_ << 1) + kGear[static_cast<unsigned char>(c)];
}

// Makes a chunk of the first `length` bytes.
void ChunkWriter::cut(std::size_t length) {
  if (length == 0) return;
  const auto contents = std::string_view(buffer_).substr(0, length);
  KnownChunk chunk{.hash = fast_hash(contents), .length = static_cast<std::uint32_t>(length)};
  if (const auto* same = known_ == nullptr ? nullptr : known_->find_chunk(chunk.hash, length)) {
    chunk.name = same->name;
    file_.add(chunk.name, length, {});
  } else {
    chunk.name = name_of_chunk(contents);
    file_.add(chunk.name, length, zstd_compress(contents, kLevel));
  }
  chunks_.push_back(chunk);
  buffer_.erase(0, length);
}

void ChunkWriter::end_chunk() {
  cut(buffer_.size());
  in_vector_ = is_large_ = false;
  rolling_ = 0;
}

void ChunkWriter::put_plain(std::string_view bytes) {
  count_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t some = std::min(bytes.size(), limits::kChunkBytesMax - buffer_.size());
    buffer_.append(bytes.substr(0, some));
    bytes.remove_prefix(some);
    if (buffer_.size() == limits::kChunkBytesMax) cut(buffer_.size());
  }
}

void ChunkWriter::refer_to(std::span<const KnownChunk> chunks) {
  end_chunk();
  for (const auto& chunk : chunks) {
    file_.add(chunk.name, chunk.length, {});
    chunks_.push_back(chunk);
    count_ += chunk.length;
  }
}

bool ChunkWriter::finish(std::string_view manifest) {
  end_chunk();
  return file_.finish(manifest);
}

std::expected<ChunkReader, std::string> ChunkReader::of(int descriptor) {
  auto file = CheckpointFile::open(descriptor);
  if (!file) return std::unexpected(file.error());
  if (!file->is_whole()) return std::unexpected("the checkpoint refers to an earlier one that is not here");
  ChunkReader reader;
  reader.file_ = std::make_shared<const CheckpointFile>(std::move(*file));
  reader.contents_ = std::make_shared<const std::string>();
  return reader;
}

bool ChunkReader::is_intact() const {
  for (std::size_t i = 0; i < file_->chunks().size(); ++i) {
    if (!file_->contents(i)) return false;
  }
  return true;
}

bool ChunkReader::next_chunk() {
  if (at_ == file_->chunks().size() || failed_) {
    failed_ = true;
    return false;
  }
  const auto& chunk = file_->chunks()[at_];
  // Its hash has been verified; zstd verifies a checksum.
  const auto frame = file_->frame(at_++);
  auto contents = frame ? zstd_decompress(*frame, chunk.length) : std::nullopt;
  failed_ = !contents || contents->size() != chunk.length;
  contents_ = std::make_shared<const std::string>(failed_ ? "" : std::move(*contents));
  done_ = 0;
  return !failed_;
}

std::string_view ChunkReader::read_some(std::uint64_t most) {
  if (done_ == contents_->size() && (at_ == file_->chunks().size() || !next_chunk())) return {};
  const auto piece = std::string_view(*contents_).substr(done_, most);
  done_ += piece.size();
  return piece;
}

bool ChunkReader::read(void* to, std::size_t length) {
  auto* into = static_cast<char*>(to);
  while (length > 0 && !failed_) {
    const auto piece = read_some(length);
    failed_ = failed_ || piece.empty();
    into = std::ranges::copy(piece, into).out;
    length -= piece.size();
  }
  if (failed_) std::memset(into, 0, length);
  return !failed_;
}

bool ChunkReader::skip(std::uint64_t length) {
  while (length > 0 && !failed_) {
    // What is skipped as a whole need not be unpacked.
    const auto& chunks = file_->chunks();
    if (done_ == contents_->size() && at_ < chunks.size() && chunks[at_].length <= length) {
      length -= chunks[at_++].length;
      continue;
    }
    const auto piece = read_some(length);
    failed_ = failed_ || piece.empty();
    length -= piece.size();
  }
  return !failed_;
}

}  // namespace remotist::volunteer::checkpoint
