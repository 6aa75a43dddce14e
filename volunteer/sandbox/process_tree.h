// A guest's processes, read from /proc.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace remotist::volunteer {

// A process and all its descendants. What disappears meanwhile is left out; a tree of more than some thousand
// is looked at in part.
std::vector<pid_t> processes_of(pid_t root);

// The beginning of a file that the kernel makes up, and the names in such a folder; nothing of one that is
// gone.
std::string proc_text(const std::string& file);
std::vector<std::string> proc_names(const std::string& folder);

}  // namespace remotist::volunteer
