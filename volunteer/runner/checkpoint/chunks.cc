#include "volunteer/runner/checkpoint/chunks.h"

#include <algorithm>
#include <cstring>

#include "core/limits.h"
#include "core/sha256.h"
#include "core/zstd.h"
#include "volunteer/runner/write_all.h"

namespace remotist::volunteer::checkpoint {

namespace {

constexpr std::string_view kMagic = "remotist checkpoint 2\n";
// R's serialize hands out vectors in parts of 8,096 elements, whatever they are.
constexpr std::size_t kPartOfVector = 8096;
constexpr std::size_t kLargeVector = 256 << 10;
constexpr std::size_t kLeast = 64 << 10;
// One in so many ends of values is a place for a cut.
constexpr std::uint64_t kSeldom = 1 << 12;
// The fastest level: writing time matters more than size.
constexpr int kLevel = 1;
constexpr std::size_t kEnd = 2 * sizeof(std::uint64_t) + 32;

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

std::string_view bytes_of(const std::vector<Chunk>& table) {
  static_assert(sizeof(Chunk) == 40);
  return {reinterpret_cast<const char*>(table.data()), table.size() * sizeof(Chunk)};
}

}  // namespace

ChunkWriter::ChunkWriter(int to) : to_(to) {
  buffer_.reserve(limits::kChunkBytesMax);
  send(kMagic);
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
      if (is_large_ || buffer_.size() == limits::kChunkBytesMax) {
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
  const std::string frame = zstd_compress(contents, kLevel);
  Chunk chunk{{}, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(frame.size())};
  const std::string name = sha256(contents);
  std::ranges::copy(name, chunk.name.begin());
  table_.push_back(chunk);
  send(frame);
  buffer_.erase(0, length);
}

void ChunkWriter::send(std::string_view bytes) {
  failed_ = failed_ || !write_all(to_, bytes);
}

bool ChunkWriter::finish(std::uint64_t number) {
  cut(buffer_.size());
  std::string end(bytes_of(table_));
  const std::uint64_t chunks = table_.size();
  end.append(reinterpret_cast<const char*>(&chunks), sizeof chunks);
  end.append(reinterpret_cast<const char*>(&number), sizeof number);
  end += sha256(end);
  send(end);
  return !failed_;
}

std::optional<ChunkReader> ChunkReader::of(std::string_view file) {
  if (!file.starts_with(kMagic) || file.size() < kMagic.size() + kEnd) return std::nullopt;
  file.remove_prefix(kMagic.size());
  ChunkReader reader;
  std::uint64_t chunks = 0;
  std::memcpy(&chunks, file.data() + file.size() - kEnd, sizeof chunks);
  std::memcpy(&reader.number_, file.data() + file.size() - kEnd + sizeof chunks, sizeof reader.number_);
  if (chunks > (file.size() - kEnd) / sizeof(Chunk)) return std::nullopt;
  const std::size_t end = chunks * sizeof(Chunk) + kEnd;
  const auto said = file.substr(file.size() - end);
  if (sha256(said.substr(0, end - 32)) != said.substr(end - 32)) return std::nullopt;
  reader.table_.resize(chunks);
  std::memcpy(reader.table_.data(), said.data(), chunks * sizeof(Chunk));
  reader.frames_ = file.substr(0, file.size() - end);
  std::uint64_t stored = 0;
  for (const auto& one : reader.table_) {
    if (one.length > limits::kChunkBytesMax) return std::nullopt;
    stored += one.stored;
  }
  if (stored != reader.frames_.size()) return std::nullopt;
  return reader;
}

bool ChunkReader::is_intact() const {
  ChunkReader all = *this;
  for (const auto& chunk : table_) {
    if (!all.next_chunk() || sha256(all.contents_) != std::string_view(chunk.name.data(), chunk.name.size()))
      return false;
  }
  return true;
}

bool ChunkReader::next_chunk() {
  if (at_ == table_.size() || failed_) {
    failed_ = true;
    return false;
  }
  const auto& chunk = table_[at_++];
  auto contents = zstd_decompress(frames_.substr(0, chunk.stored), chunk.length);
  frames_.remove_prefix(chunk.stored);
  done_ = 0;
  contents_ = std::move(contents).value_or("");
  failed_ = contents_.size() != chunk.length;
  return !failed_;
}

std::string_view ChunkReader::read_some(std::uint64_t most) {
  if (done_ == contents_.size() && (at_ == table_.size() || !next_chunk())) return {};
  const auto piece = std::string_view(contents_).substr(done_, most);
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
    if (done_ == contents_.size() && at_ < table_.size() && table_[at_].length <= length) {
      length -= table_[at_].length;
      frames_.remove_prefix(table_[at_++].stored);
      continue;
    }
    const auto piece = read_some(length);
    failed_ = failed_ || piece.empty();
    length -= piece.size();
  }
  return !failed_;
}

}  // namespace remotist::volunteer::checkpoint
