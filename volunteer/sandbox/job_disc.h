// File systems for jobs: the kernel, not somebody who looks now and then, bounds what a job can store, by
// whatever name, descriptor, mapping or process it holds it.
//
// A disc is a mount that is attached nowhere: this process reaches it through a descriptor, a guest by
// attaching it in its own mount namespace, nobody else at all. The image that it is made of is a file without
// a name on a loop device that clears itself. So whatever ends this process, nothing of it is left.
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

// What a guest's folder may hold in all: what its job asked for and a tenth more; values, checkpoints and its
// log beside it.
DiscSize disc_size(const GuestSpec& spec);
// As it is written, with what is said at its end of what is left out.
std::int64_t log_bytes_max(const GuestLimits& limits);

enum class DiscKind : std::uint8_t {
  image,   // ext4 in a sparse file: for a root agent, any size
  memory,  // tmpfs: for anybody, up to JobDiscs::kMemoryBytesMax
};

class JobDisc {
 public:
  virtual ~JobDisc() = default;
  JobDisc(const JobDisc&) = delete;
  JobDisc& operator=(const JobDisc&) = delete;

  DiscKind kind() const { return kind_; }
  // Where this process finds it.
  const std::filesystem::path& path() const { return path_; }
  // For a guest to attach, which it can do once; for the next guest when that one's processes are gone. A
  // disc in memory can be given once only, unless this is root on Linux 6.15 or newer. One thread at a time.
  // Throws std::system_error.
  virtual Descriptor for_guest() = 0;
  // Whether it is full: "disc", "inodes", or nothing.
  std::string_view full() const;
  // Whether something that was written to it was lost because the machine's disc below it is full or broken:
  // 0, or the errno. Blocks until all of it is written. Ask after reading a file: a page that was lost before
  // it was read is then known.
  virtual int lost_writes() = 0;

 protected:
  JobDisc(DiscKind kind, const DiscSize& size, int mount);

 private:
  DiscKind kind_;
  DiscSize size_;
  int mount_;  // not owned
  std::filesystem::path path_;
};

// Makes discs. Any thread may call it; a call can take some tens of milliseconds.
class JobDiscs {
 public:
  // A disc in memory is memory that nobody lent. The room that a job's memory limit leaves beyond what it
  // asked for (cgroup_memory_bytes()) covers so much.
  static constexpr std::int64_t kMemoryBytesMax = 64LL << 20;
  // Images that are kept for the next job once a job is done with them: so many, none that takes more.
  static constexpr std::size_t kIdleMax = 8;
  static constexpr std::int64_t kIdleBytesMax = 32LL << 20;

  // `images` is the folder on whose disc images are made.
  explicit JobDiscs(std::filesystem::path images);
  ~JobDiscs();
  JobDiscs(const JobDiscs&) = delete;
  JobDiscs& operator=(const JobDiscs&) = delete;

  // Empty, and at least of that size. None, and a line in the log, when this machine can make none. Throws
  // std::system_error (ENOSPC) when the disc below has no room for it beside all that images in use may
  // still take of it. The last thread that holds it returns it.
  std::shared_ptr<JobDisc> make(const DiscSize& size);
  // Makes images of a size ahead, where images can be made.
  void prepare(const DiscSize& size, std::size_t count);

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;
};

// Tries to make one; 0, or the errno of what failed. What it made is gone afterwards.
int probe_disc(DiscKind kind);

}  // namespace remotist::volunteer
