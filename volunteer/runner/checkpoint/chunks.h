// The file of a checkpoint: its contents in chunks, each compressed and named by its hash, so that of two
// checkpoints only the chunks that differ have to be transferred.
//
//   "remotist checkpoint 2\n"
//   the chunks, each a zstd frame with a checksum, of at most kChunkBytesMax bytes of contents
//   the table: for each chunk its name (SHA-256 of the contents), u32 length of them, u32 length of the frame
//   the end: u64 number of chunks, u64 a number for the caller, SHA-256 of the table and both numbers
//
// A large vector has chunks of its own, which begin where it begins: while it does not change, they do not,
// wherever it is in the file. Elsewhere chunks are content-defined: a rolling hash chooses boundaries among
// the ends of values, so that boundaries realign after a change. Needs no R. A writer or reader belongs to
// one thread at a time. Invariants: the table describes the chunks in the order of the file, and their
// lengths add up to the bytes that were put; a writer's buffer_ is always shorter than kChunkBytesMax between
// calls; failed_ is never reset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remotist::volunteer::checkpoint {

struct Chunk {
  std::array<char, 32> name;
  std::uint32_t length;  // of its contents
  std::uint32_t stored;  // of its frame
};

// Writes such a file to a descriptor, which the caller owns. Each put() is one write of R's serializer: a
// value, or a part of a vector.
class ChunkWriter {
 public:
  explicit ChunkWriter(int to);

  void put(const void* bytes, std::size_t length);
  template <class Number>
  void number(Number n) {
    put(&n, sizeof n);
  }
  // How many bytes were put.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Writes the last chunk and the table. False when any write failed.
  [[nodiscard]] bool finish(std::uint64_t number);

 private:
  void append(std::string_view piece);
  void roll(std::string_view piece);
  void cut(std::size_t length);
  void send(std::string_view bytes);

  int to_;
  bool failed_ = false;
  std::string buffer_;
  std::vector<Chunk> table_;
  std::uint64_t count_ = 0;
  std::uint64_t rolling_ = 0;    // depends on the last 64 bytes alone
  std::size_t vector_from_ = 0;  // in the buffer
  bool in_vector_ = false;
  bool is_large_ = false;  // the vector is large, and the buffer contains nothing else
};

// Reads such a file sequentially.
class ChunkReader {
 public:
  // Nothing when the table is damaged or does not match these bytes, which must outlive the reader.
  static std::optional<ChunkReader> of(std::string_view file);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const std::vector<Chunk>& chunks() const { return table_; }
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

  std::vector<Chunk> table_;
  std::string_view frames_;  // not decompressed yet
  std::size_t at_ = 0;       // the index of the first of them
  std::uint64_t number_ = 0;
  std::string contents_;  // of the chunk before them
  std::size_t done_ = 0;  // bytes of contents_ that were read
  bool failed_ = false;
};

}  // namespace remotist::volunteer::checkpoint
