// The contents of a checkpoint in chunks (volunteer/sandbox/checkpoint_file.h), so that of two checkpoints
// only the chunks that differ have to be written and transferred.
//
// A large vector has chunks of its own, which begin where it begins, or a few bytes before: while it does not
// change, they do not, wherever it is in the file. Elsewhere chunks are content-defined: a rolling hash
// chooses boundaries among the ends of values, so that boundaries realign after a change. A chunk that the
// last confirmed checkpoint has is written without its frame. Needs no R. A writer or reader belongs to one
// thread at a time. Invariants: the table describes the chunks in the order of the contents, and their
// lengths add up to the bytes that were put or referred to; a writer's buffer_ is always shorter than
// kChunkBytesMax between calls; failed_ is never reset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/runner/checkpoint/known.h"
#include "volunteer/sandbox/checkpoint_file.h"

namespace remotist::volunteer::checkpoint {

// Writes such a file to a descriptor, which the caller owns. Each put() is one write of R's serializer: a
// value, or a part of a vector.
class ChunkWriter {
 public:
  // Leaves the frames of chunks out that `known` has, which must outlive it.
  explicit ChunkWriter(int to, const KnownCheckpoints* known = nullptr);

  void put(const void* bytes, std::size_t length);
  template <class Number>
  void number(Number n) {
    put(&n, sizeof n);
  }
  // How many bytes were put.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // The next bytes begin a chunk.
  void end_chunk();
  // Appends bytes as they are, in chunks of the largest size from the last end_chunk() on.
  void put_plain(std::string_view bytes);
  // Appends chunks that an earlier checkpoint has.
  void refer_to(std::span<const KnownChunk> chunks);
  // All chunks so far.
  [[nodiscard]] const std::vector<KnownChunk>& chunks() const { return chunks_; }
  // Writes the last chunk, the table and the manifest. False when any write failed, or a limit was exceeded.
  [[nodiscard]] bool finish(std::string_view manifest);

 private:
  void append(std::string_view piece);
  void roll(std::string_view piece);
  void cut(std::size_t length);

  CheckpointFileWriter file_;
  const KnownCheckpoints* known_;
  std::string buffer_;
  std::vector<KnownChunk> chunks_;
  std::uint64_t count_ = 0;
  std::uint64_t rolling_ = 0;    // depends on the last 64 bytes alone
  std::size_t vector_from_ = 0;  // in the buffer
  bool in_vector_ = false;
  bool is_large_ = false;  // the vector is large, and the buffer contains nothing else
};

// Reads the contents of such a file sequentially. Copies are cheap, and read on from the same position.
class ChunkReader {
 public:
  // The error says in words what is wrong: also that the file is not whole. The descriptor must outlive the
  // reader.
  static std::expected<ChunkReader, std::string> of(int descriptor);

  [[nodiscard]] const CheckpointFile& file() const { return *file_; }
  // Decompresses all chunks and verifies their hashes.
  [[nodiscard]] bool is_intact() const;
  // Whether a read went beyond the end, or a chunk was damaged.
  [[nodiscard]] bool failed() const { return failed_; }

  // False once the contents end too early or a chunk cannot be decompressed, and from then on.
  bool read(void* to, std::size_t length);
  bool skip(std::uint64_t length);
  // The next bytes, at most `most`, without copying; empty at the end. Valid until the next call.
  std::string_view read_some(std::uint64_t most);
  template <class Number>
  bool number(Number& n) {
    return read(&n, sizeof n);
  }

 private:
  bool next_chunk();

  std::shared_ptr<const CheckpointFile> file_;
  std::size_t at_ = 0;                           // the index of the chunk that is read next
  std::shared_ptr<const std::string> contents_;  // of the chunk before it
  std::size_t done_ = 0;                         // bytes of contents_ that were read
  bool failed_ = false;
};

}  // namespace remotist::volunteer::checkpoint
