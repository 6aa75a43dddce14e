// The job's files in the contents of a checkpoint, after R's state. Needs no R.
//
//   u64 number of runs, u64 length of each
//   u64 number of files; for each, in the order of the runs: u32 length of the path, path, u32 mode, i64
//   seconds and i64 nanoseconds of its last change, u64 length, u32 index of its run, u64 offset in the run
//   the runs, each of which begins and ends with a chunk
//
// A large file is a run of its own; small ones share runs. A file that has not changed since the last
// confirmed checkpoint is not read: its run is referred to as a whole, while at least half of it is still in
// use.
//
// A file has not changed if its version (device, inode, size, times) is the same and it was settled: when it
// was read, its last change was longer ago than a tick of the file system's clock, and no process had it open
// or mapped for writing. Then each later write changes its version: a write in the same tick cannot happen
// any more, and the first write through a new mapping sets the times, on the file systems that the host
// vouches for (exact_times). A read lease (fcntl) is granted only where nobody has the file open or mapped
// for writing; it is given back at once.
//
// R's thread, and the child that writes. A descriptor in here is closed by release().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "volunteer/runner/checkpoint/chunks.h"
#include "volunteer/runner/checkpoint/known.h"

namespace remotist::volunteer::checkpoint {

inline constexpr std::uint64_t kLargeFileBytes = 256 << 10;
inline constexpr std::uint64_t kRunBytes = 1 << 20;  // of small files together

class SavedFiles {
 public:
  SavedFiles() = default;
  ~SavedFiles() { release(); }
  SavedFiles(const SavedFiles&) = delete;
  SavedFiles& operator=(const SavedFiles&) = delete;

  struct Options {
    std::string folder;  // for copies of large files
    bool exact_times;    // of the file system that this folder is on
  };
  // Takes the files, each by its path and its name in the checkpoint, as they are now. The path of one that
  // is not a regular file or cannot be read, or "".
  std::string take(const std::vector<std::pair<std::string, std::string>>& files, const Options& options,
                   const KnownCheckpoints& known);
  void release();

  std::size_t count() const { return files_.size(); }
  // Of these, those that were read.
  std::size_t read_count() const;
  // Appends them, and describes the runs and files in `table`. False when a copy cannot be read.
  bool put(ChunkWriter& writer, const KnownCheckpoints& known, CheckpointTable& table);

 private:
  struct File {
    KnownFile known;
    std::uint32_t mode = 0;
    bool unchanged = false;  // known.run is one of the base
    std::string bytes{};     // of a small file that was read
    int copy = -1;           // of a large one: an unnamed file
  };

  bool look(const std::string& path, File& file, const Options& options, const KnownCheckpoints& known);
  bool read(const std::string& path, File& file, const Options& options);
  void drop_sparse_runs(const KnownCheckpoints& known);
  static bool put_bytes(ChunkWriter& writer, const File& file);

  std::vector<File> files_;
  timespec began_{};
  dev_t device_ = 0;
};

// A file in a checkpoint; its contents follow.
struct FileHeader {
  std::string path;
  std::uint32_t mode = 0;
  timespec changed{};
  std::uint64_t length = 0;
  std::uint32_t run = 0;
  std::uint64_t offset = 0;
};

// Reads the files, after the state. Each takes the reader on; false when the checkpoint is damaged.
class SavedFileReader {
 public:
  explicit SavedFileReader(ChunkReader& from) : from_(from) {}
  bool read_table();
  const std::vector<FileHeader>& files() const { return files_; }
  // Moves to the contents of this file; call it in the order of the files.
  bool move_to(const FileHeader& file);
  // Its contents have been read.
  void passed(const FileHeader& file) { offset_ += file.length; }

 private:
  ChunkReader& from_;
  std::vector<std::uint64_t> runs_;
  std::vector<FileHeader> files_;
  std::uint32_t run_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace remotist::volunteer::checkpoint
