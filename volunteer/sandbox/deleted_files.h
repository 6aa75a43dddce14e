// Files that a guest has deleted and still has open or mapped, which a walk through its folder does not find.
// For guests without a file system of their own.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace remotist::volunteer {

struct DeletedFiles {
  std::int64_t bytes = 0;  // allocated
  std::int64_t files = 0;
  bool unmeasured = false;  // at least one is mapped but not open: its size is not visible
  bool hidden = false;      // a process is (process_tree.h), and may have any
};

// More mappings than the processes of an honest job have; reading them takes a tenth of a second. Further
// ones are not read and count as one unmeasured file.
inline constexpr std::int64_t kMappingsMax = 200'000;

// Scans a guest's first process and all its descendants with all their threads. A file that is mapped but not
// open counts as `mapped_file_bytes`. Files that the first process has mapped belong to the host and do not
// count. Processes that exit meanwhile are not counted.
DeletedFiles deleted_files_of(pid_t first_process, std::int64_t mapped_file_bytes);

}  // namespace remotist::volunteer
