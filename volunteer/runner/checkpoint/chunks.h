// The file of a checkpoint: its contents in chunks, each compressed and named by what is in it, so that of
// two checkpoints only the chunks need to travel that differ.
//
//   "remotist checkpoint 2\n"
//   the chunks, each a zstd frame with a checksum, of at most kChunkBytesMax bytes of contents
//   the table: for each chunk its name (SHA-256 of the contents), u32 length of them, u32 length of the frame
//   the end: u64 number of chunks, u64 a number for the caller, SHA-256 of the table and both numbers
//
// A vector that is large has chunks of its own, cut from where it begins: as long as it stays as it is, so do
// they, wherever it stands. Between them cuts fall where one value ends, at places that what stands before
// them decides, so that they find themselves again behind a change.
//
// No R in here.
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

// Writes such a file to a descriptor, from its beginning. What R's serialize hands out goes in as it comes:
// one value, or a part of a vector, at a time.
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
  // Writes what is left and the table. False when any byte could not be written.
  [[nodiscard]] bool finish(std::uint64_t number);

 private:
  void take(std::string_view piece);
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
  bool is_large_ = false;  // the vector, and all that is in the buffer is of it
};

// What is in such a file, in its order.
class ChunkReader {
 public:
  // Nothing when the table is not whole, or does not belong to these bytes, which must outlive the reader.
  static std::optional<ChunkReader> of(std::string_view file);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const std::vector<Chunk>& chunks() const { return table_; }
  // Are the chunks whole, too? Unpacks them all and looks whether they have the names that they should have.
  [[nodiscard]] bool is_whole() const;
  // Was anything wanted that is not there?
  [[nodiscard]] bool failed() const { return short_of_; }

  // Both are true until the contents end before what is asked for, or a chunk cannot be unpacked. From then
  // on false.
  bool take(void* to, std::size_t length);
  bool skip(std::uint64_t length);
  // The next bytes, at most `most`, as they lie together; empty at the end.
  std::string_view some(std::uint64_t most);
  template <class Number>
  bool number(Number& n) {
    return take(&n, sizeof n);
  }

 private:
  bool next_chunk();

  std::vector<Chunk> table_;
  std::string_view frames_;  // that are still to be unpacked
  std::size_t at_ = 0;       // the chunk that the first of them is
  std::uint64_t number_ = 0;
  std::string contents_;  // of the chunk before it
  std::size_t done_ = 0;  // how far it was read
  bool short_of_ = false;
};

}  // namespace remotist::volunteer::checkpoint
