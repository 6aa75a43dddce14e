// What a process knows about the checkpoints that its host keeps, so that the next one need not repeat it.
//
// The child that writes a checkpoint describes it in a CheckpointTable, which reaches the parent through an
// unnamed file. When the host has confirmed the checkpoint, later ones refer to its chunks and files. Needs
// no R.
//
// Threads: R's, except confirm() and forget(), which any thread may call; they take effect at the next
// update().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unordered_map>
#include <vector>

#include "volunteer/sandbox/checkpoint_file.h"
#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer::checkpoint {

// XXH3-128 of a chunk's contents. Its seed is random for each job, so that no script can prepare two contents
// with one hash.
struct FastHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const FastHash&) const = default;
};
FastHash fast_hash(std::string_view contents);

struct KnownChunk {
  FastHash hash{};
  ChunkHash name{};
  std::uint32_t length = 0;
  bool operator==(const KnownChunk&) const = default;
};

// Identifies a version of a regular file without reading it.
struct FileVersion {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{};
  timespec changed{};
  bool operator==(const FileVersion& other) const;
};
FileVersion version_of(const struct stat& state);

// Files of the job that are together in the contents of a checkpoint. It begins and ends with a chunk.
struct FileRun {
  std::uint32_t first = 0;   // index of its first chunk
  std::uint32_t chunks = 0;  // how many
  std::uint64_t length = 0;
  bool operator==(const FileRun&) const = default;
};
struct KnownFile {
  std::string path{};  // as in the checkpoint
  FileVersion version{};
  bool settled = false;      // whether each later write changes the version (saved_files.h)
  std::uint32_t run = 0;     // index
  std::uint64_t offset = 0;  // in the run
  bool operator==(const KnownFile&) const = default;
};

struct CheckpointTable {
  std::vector<KnownChunk> chunks{};
  std::vector<FileRun> runs{};
  std::vector<KnownFile> files{};
};
// False when it cannot be written. Both use the file from its beginning.
bool write_table(int to, const CheckpointTable& table);
// None when the file has no complete table, or one whose indices do not fit.
std::optional<CheckpointTable> read_table(int from);

class KnownCheckpoints {
 public:
  static constexpr std::size_t kUnconfirmedMax = 4;

  // A checkpoint whose child will write its table to this file.
  void add(std::uint64_t number, Descriptor table);
  // Any thread: the host keeps all chunks of this checkpoint; nothing at all is known any more.
  void confirm(std::uint64_t number) { confirmed_ = number; }
  void forget() { forget_ = true; }
  void update();

  // The last confirmed checkpoint; null when there is none.
  const CheckpointTable* base() const { return base_ ? &*base_ : nullptr; }
  const KnownFile* find_file(const std::string& path) const;
  const KnownChunk* find_chunk(const FastHash& hash, std::size_t length) const;

 private:
  struct Unconfirmed {
    std::uint64_t number;
    Descriptor table;
  };

  std::optional<CheckpointTable> base_;
  std::unordered_map<std::uint64_t, std::size_t> chunk_at_;  // by the low half of the hash
  std::unordered_map<std::string, std::size_t> file_at_;
  std::deque<Unconfirmed> unconfirmed_;
  std::atomic<std::uint64_t> confirmed_{0};
  std::atomic<bool> forget_{false};
};

}  // namespace remotist::volunteer::checkpoint
