// What a guest's processes use, read from /proc: for machines whose cgroups do not count, and for files that
// have no name any more.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace remotist::volunteer {

struct TreeUse {
  std::int64_t cpu_ms = 0;         // of those alive, and of the dead that were waited for
  std::int64_t private_kb = 0;     // not with files
  std::int64_t unnamed_bytes = 0;  // with files: on the disc, of deleted files that are open or mapped
};

// Of a process and all its descendants. What disappears meanwhile is left out; a tree of more than some
// thousand is looked at in part. The time of a process whose parent ignores SIGCHLD, and that came and went
// between two looks, is not in it: only a cgroup sees that.
TreeUse use_of_tree(pid_t root, bool with_files);

}  // namespace remotist::volunteer
