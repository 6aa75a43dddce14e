// What a guest's processes use, read from /proc: for machines whose cgroups do not count, and for files that
// have no name any more.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace remotist::volunteer {

struct TreeUse {
  std::int64_t private_kb = 0;     // not with files
  std::int64_t unnamed_bytes = 0;  // with files: on the disc, of deleted files that are open or mapped
};

// A process and all its descendants. What disappears meanwhile is left out; a tree of more than some thousand
// is looked at in part.
std::vector<pid_t> processes_of(pid_t root);
TreeUse use_of_tree(pid_t root, bool with_files);

// The beginning of a file that the kernel makes up, and the names in such a folder; nothing of one that is
// gone.
std::string proc_text(const std::string& file);
std::vector<std::string> proc_names(const std::string& folder);

}  // namespace remotist::volunteer
