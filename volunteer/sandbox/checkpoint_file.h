// The file of a checkpoint, format 3, as a guest writes it and its host reads it; needs no R.
//
//   "remotist checkpoint 3\n"
//   the frames: the contents in chunks, each a zstd frame with a checksum, of at most kChunkBytesMax bytes
//   the table: for each chunk its name (SHA-256 of the contents), u32 length of them, u32 length of the frame
//   the manifest: JSON
//   the end: u64 number of chunks, u64 bytes of the manifest, SHA-256 of the table, the manifest and both
//
// Numbers are little-endian. A chunk whose frame has the length 0 is not in the file: an earlier checkpoint
// of the same job, which the host keeps, has it. A file with all frames is whole; only a whole one can be
// resumed from. assemble_checkpoint() makes a whole file from the chunks that were kept.
//
// The contents are one text that the chunks make up in their order: R's serialized state (state_bytes of it),
// then the job's files (volunteer/runner/checkpoint/saved_files.h).
//
// The reader takes nothing in the file on trust: it reads by pread(), because a guest may still shorten the
// file, checks every number against a limit before it uses it, and holds the table, the manifest and one
// frame in memory. What the manifest says remains the guest's word.
//
// Threads: an object belongs to one thread at a time. Descriptors stay the caller's.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remotist::volunteer {

inline constexpr int kCheckpointFormat = 3;

struct CheckpointManifest {
  int format = kCheckpointFormat;
  std::string r_version{};              // "4.5.0"
  std::string architecture{};           // as R says it, "x86_64"
  std::vector<std::string> packages{};  // "name version": what a resuming process must have besides R's own
  std::int64_t state_bytes = 0;         // of R's serialized state
  std::string file{};                   // the position: the script,
  std::int64_t line = 0;                // the line where the expression at the top level begins, 0: unknown,
  std::string call{};                   // and the function of the innermost call, empty at the top level
  double pause_ms = 0;                  // of R
  double child_cpu_ms = 0;              // of the process that wrote the file, until it wrote this
  std::int64_t files = 0;               // of the job
  std::int64_t files_read = 0;          // of these, because they may have changed
  bool operator==(const CheckpointManifest&) const = default;
};
// Texts are shortened to their limits and made clean.
std::string encode(const CheckpointManifest& manifest);
// None when a field is unknown, missing or out of range, or the format is another one.
std::optional<CheckpointManifest> parse_checkpoint_manifest(std::string_view text);

using ChunkHash = std::array<char, 32>;
struct CheckpointChunk {
  ChunkHash name{};          // SHA-256 of its contents
  std::uint32_t length = 0;  // of them
  std::uint32_t stored = 0;  // of its frame; 0: not in this file
  bool operator==(const CheckpointChunk&) const = default;
};
inline std::string_view bytes_of(const ChunkHash& name) {
  return {name.data(), name.size()};
}
ChunkHash name_of_chunk(std::string_view contents);

class CheckpointFile {
 public:
  // Checks everything but the frames. The error says in words what is wrong.
  static std::expected<CheckpointFile, std::string> open(int descriptor);

  const CheckpointManifest& manifest() const { return manifest_; }
  // As it is in the file, for assemble_checkpoint().
  const std::string& manifest_text() const { return manifest_text_; }
  const std::vector<CheckpointChunk>& chunks() const { return chunks_; }
  bool is_whole() const;
  // The frame of the chunk with this index; none when it is not in the file, or the file was shortened.
  std::optional<std::string> frame(std::size_t index) const;
  // What it contains; none also when that is not what its name and length say.
  std::optional<std::string> contents(std::size_t index) const;

 private:
  int descriptor_ = -1;
  std::string manifest_text_;
  CheckpointManifest manifest_;
  std::vector<CheckpointChunk> chunks_;
  std::vector<std::uint64_t> offsets_;  // of the frames
};

// Writes such a file to a descriptor.
class CheckpointFileWriter {
 public:
  explicit CheckpointFileWriter(int to);

  // Appends a chunk; an empty frame refers to that of an earlier checkpoint.
  void add(const ChunkHash& name, std::size_t length, std::string_view frame);
  std::size_t chunks() const { return table_.size(); }
  // Writes the table and the end. False when any write failed, or a limit was exceeded.
  [[nodiscard]] bool finish(std::string_view manifest);

 private:
  void send(std::string_view bytes);

  int to_;
  bool failed_ = false;
  std::vector<CheckpointChunk> table_;
};

// Writes a whole checkpoint: its manifest, and the chunks with these names, whose frames `frame_of` yields by
// index, in order. "" or what is wrong: a frame that is missing or does not contain what its name says, a
// limit, a write that failed, chunks that are not those of the manifest. Then the file is of no use.
std::string assemble_checkpoint(int to, std::string_view manifest, std::span<const ChunkHash> names,
                                const std::function<std::optional<std::string>(std::size_t)>& frame_of);

}  // namespace remotist::volunteer
