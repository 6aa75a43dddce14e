// A guest's processes, read from /proc.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace remotist::volunteer {

// A process and all its descendants, at most some thousand. Processes that exit meanwhile may be missing.
std::vector<pid_t> processes_of(pid_t root);

// The first 8 KiB of a file in /proc, and the names in a folder of /proc; empty when it does not exist.
std::string proc_text(const std::string& file);
std::vector<std::string> proc_names(const std::string& folder);

}  // namespace remotist::volunteer
