// What a guest's processes hold in memory together, read from /proc: for machines whose cgroups do not count
// it. And the locks that they hold on files, which no cgroup counts.
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
  std::int64_t kb = 0;    // each page once, whoever shares it; with what the pipes can hold
  std::size_t pipes = 0;  // and fifos that are open
  std::size_t locks = 0;  // on files, by fcntl() and flock()
};

// What is past a guest's limits, in words; empty when nothing is.
std::string memory_excess(const MemoryUse& use, const GuestLimits& limits);

// One look after the other at a process and all its descendants, a process at a time: a look that takes too
// long for once is gone on with later. What disappears meanwhile is left out.
class MemoryLook {
 public:
  // Of locks, one more than this is as good as any number.
  explicit MemoryLook(std::size_t locks_max) : locks_max_(locks_max) {}

  // Goes on, or begins, until all have been looked at or `enough` says so. The sum, once there is one;
  // without memory and pipes when `counted` by a cgroup.
  std::optional<MemoryUse> go_on(pid_t root, bool counted, const std::function<bool()>& enough);

 private:
  void add_memory(pid_t process);
  bool is_new_memory(pid_t process, const std::string& range);
  void add_descriptors(pid_t process, bool counted);
  void add_locks(const std::string& description);

  std::size_t locks_max_;
  std::vector<pid_t> left_;
  std::map<std::string, std::vector<pid_t>> seen_;  // by the range of their addresses
  std::set<std::pair<dev_t, ino_t>> pipes_;
  std::int64_t kb_ = 0;
  std::size_t locks_ = 0;
};

}  // namespace remotist::volunteer
