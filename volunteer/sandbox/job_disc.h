// File systems for jobs: the kernel bounds what a job can store, including deleted files that are still open
// or mapped.
//
// A disc is a detached mount: this process reaches it through a descriptor, a guest attaches it in its own
// mount namespace, and nobody else can reach it. An image is an unnamed file on a loop device that detaches
// itself. So nothing is left when this process ends, however it ends.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

struct DiscSize {
  std::int64_t bytes = 0;
  std::int64_t inodes = 0;
  auto operator<=>(const DiscSize&) const = default;
};

// The total size of a guest's folder: what its job asked for and a tenth more, watched values, checkpoints
// and the log.
DiscSize disc_size(const GuestSpec& spec);
// With the notes about files that were left out.
std::int64_t log_bytes_max(const GuestLimits& limits);

enum class DiscKind : std::uint8_t {
  image,   // ext4 in a sparse file: any size, needs root
  memory,  // tmpfs: up to JobDiscs::kMemoryBytesMax, any user
};

class JobDisc {
 public:
  virtual ~JobDisc() = default;
  JobDisc(const JobDisc&) = delete;
  JobDisc& operator=(const JobDisc&) = delete;

  DiscKind kind() const { return kind_; }
  // The path by which this process reaches it.
  const std::filesystem::path& path() const { return path_; }
  // A mount for a guest to attach, once. Call it again for a guest that takes the place of one that is gone;
  // a disc in memory allows that only as root on Linux 6.15 or newer. One thread at a time. Throws
  // std::system_error.
  virtual Descriptor for_guest() = 0;
  // Limit::disc or Limit::inodes when it is full, else none.
  std::optional<Limit> full() const;
  // Whether written data was lost because the machine's disc is full or broken: 0, or the errno. Writes
  // everything back first, so it blocks. Call it after reading the job's files: then it reports every page
  // that was lost before it was read.
  virtual int lost_writes() = 0;

 protected:
  JobDisc(DiscKind kind, const DiscSize& size, int mount);

 private:
  DiscKind kind_;
  DiscSize size_;
  int mount_;  // not owned
  std::filesystem::path path_;
};

// Makes discs. Any thread; a call may block for some tens of milliseconds.
class JobDiscs {
 public:
  // A disc in memory uses memory that the owner did not lend. What a job's memory limit allows beyond what it
  // asked for (cgroup_memory_bytes()) covers this much.
  static constexpr std::int64_t kMemoryBytesMax = 64LL << 20;
  // Images that are kept for later jobs: how many, and the largest size of one on the machine's disc.
  static constexpr std::size_t kIdleMax = 8;
  static constexpr std::int64_t kIdleBytesMax = 32LL << 20;

  // Images are made in the folder `images`.
  explicit JobDiscs(std::filesystem::path images);
  ~JobDiscs();
  JobDiscs(const JobDiscs&) = delete;
  JobDiscs& operator=(const JobDiscs&) = delete;

  // An empty disc of at least that size; null, with a line in the log, when this machine cannot make one.
  // Throws std::system_error (ENOSPC) when the machine's disc has no space for it in addition to what the
  // images in use may still grow by. The disc returns to the pool with its last owner, on that thread.
  std::shared_ptr<JobDisc> make(const DiscSize& size);
  // Makes images of a size in advance, where images can be made.
  void prepare(const DiscSize& size, std::size_t count);

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;
};

// Tries to make a disc and removes it; 0, or the errno of what failed.
int probe_disc(DiscKind kind);

}  // namespace remotist::volunteer
