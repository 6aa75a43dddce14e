// A guest's processes, read from /proc.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace remotist::volunteer {

// A process and all its descendants, at most some thousand. Processes that exit meanwhile may be missing.
std::vector<pid_t> processes_of(pid_t root);

// The first 8 KiB of a file in /proc, and the names in a folder of /proc; empty when it cannot be read. Sets
// `hidden` when it exists and the kernel refuses it: of a process that runs a program which may be executed
// but not read, /proc shows almost nothing to an agent without privileges. A process or thread that exits or
// has exited is not hidden, although the kernel refuses its folders, too, until it is waited for.
std::string proc_text(const std::string& file, bool& hidden);
std::vector<std::string> proc_names(const std::string& folder, bool& hidden);
std::string proc_text(const std::string& file);
std::vector<std::string> proc_names(const std::string& folder);

// Whether `error`, from opening a path below /proc/PID or /proc/PID/task/TID, means that the kernel hides a
// process or thread that is alive.
bool is_hidden(int error, std::string_view path);

}  // namespace remotist::volunteer
