// Memory and pipes of all of a guest's processes, read from /proc where no cgroup counts them, and their
// locks on files, which no cgroup counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

struct MemoryUse {
  std::int64_t kb = 0;    // shared pages once; includes the capacity of the pipes
  std::size_t pipes = 0;  // and open fifos
  std::size_t locks = 0;  // on files, by fcntl() and flock()
  bool hidden = false;    // in this scan and in the one before a process could not be measured
};

// A message about the first limit that is exceeded; empty when none is.
std::string memory_excess(const MemoryUse& use, const GuestLimits& limits);

// Repeated scans of a process and all its descendants. A scan can be suspended after each process and resumed
// later. Processes that exit meanwhile are not counted. A process that the kernel hides (process_tree.h) may
// have any memory; one scan may catch an honest process during execve().
class MemoryScan {
 public:
  // Locks are counted up to locks_max + 1.
  explicit MemoryScan(std::size_t locks_max) : locks_max_(locks_max) {}

  // Begins or resumes a scan and continues until it is complete or `suspend` returns true. Returns the sums
  // of a complete scan, without memory and pipes when a cgroup has `counted` those.
  std::optional<MemoryUse> resume(pid_t root, bool counted, const std::function<bool()>& suspend);

 private:
  void add_memory(pid_t process);
  bool is_new_memory(pid_t process, const std::string& range);
  void add_descriptors(pid_t process, bool counted);
  void add_locks(const std::string& description);
  std::string rollup_of(pid_t process);

  std::size_t locks_max_;
  std::vector<pid_t> left_;
  std::map<std::string, std::vector<pid_t>> scanned_;  // by their address range
  std::set<std::pair<dev_t, ino_t>> pipes_;
  std::int64_t kb_ = 0;
  std::size_t locks_ = 0;
  bool hidden_ = false;
  bool was_hidden_ = false;  // in the last complete scan
};

}  // namespace remotist::volunteer
