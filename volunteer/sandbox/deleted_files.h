// Files that a guest has deleted and still holds, which no walk through its folder finds. For guests whose
// folder is no file system of its own.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace remotist::volunteer {

struct DeletedFiles {
  std::int64_t bytes = 0;  // on the disc
  std::int64_t files = 0;
  bool unmeasured = false;  // at least one is mapped but not open: its size cannot be seen
};

// More mappings than an honest job has, however many processes; to read them takes a tenth of a second. Those
// beyond it are not read, and count as one file that cannot be measured.
inline constexpr std::int64_t kMappingsMax = 200'000;

// Of a guest's first process, which is ours, and all its descendants, in all their threads. A file that is
// mapped but not open counts as `mapped_file_bytes`. What the first process has mapped belongs to the
// machine and is left out. What disappears meanwhile is left out, too.
DeletedFiles deleted_files_of(pid_t first_process, std::int64_t mapped_file_bytes);

}  // namespace remotist::volunteer
