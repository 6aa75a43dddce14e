#include "volunteer/sandbox/process_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <format>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

namespace {

constexpr std::size_t kProcessesMax = 4096;

// Children are listed by the thread that forked them.
void add_children(pid_t process, std::vector<pid_t>& all) {
  const auto tasks = std::format("/proc/{}/task", process);
  for (const auto& thread : proc_names(tasks)) {
    std::istringstream children{proc_text(std::format("{}/{}/children", tasks, thread))};
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
}

// /proc/PID, or /proc/PID/task/TID, of a path below it.
std::string task_of(std::string_view path) {
  constexpr std::string_view kProc = "/proc/";
  constexpr std::string_view kTask = "/task/";
  auto end = path.find('/', kProc.size());
  if (end != std::string_view::npos && path.substr(end).starts_with(kTask))
    end = path.find('/', end + kTask.size());
  return std::string{path.substr(0, end)};
}

// Whether a task exits, is a zombie or is gone: it has no memory and no files then. Its state is readable for
// everybody.
bool is_exiting(const std::string& task) {
  constexpr unsigned kExiting = 0x4;  // PF_EXITING
  const auto text = proc_text(task + "/stat");
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return true;
  unsigned flags = 0;
  if (std::sscanf(text.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1) return false;
  return (flags & kExiting) != 0;
}

}  // namespace

bool is_hidden(int error, std::string_view path) {
  return (error == EACCES || error == EPERM) && !is_exiting(task_of(path));
}

std::string proc_text(const std::string& file, bool& hidden) {
  std::string text(8192, '\0');
  const Descriptor in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  const ssize_t got = in ? ::read(in.get(), text.data(), text.size()) : -1;
  if (got < 0 && is_hidden(errno, file)) hidden = true;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::vector<std::string> proc_names(const std::string& folder, bool& hidden) {
  std::vector<std::string> names;
  DIR* listing = ::opendir(folder.c_str());
  if (listing == nullptr) {
    if (is_hidden(errno, folder)) hidden = true;
    return names;
  }
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(listing);
  return names;
}

std::string proc_text(const std::string& file) {
  bool ignored = false;
  return proc_text(file, ignored);
}

std::vector<std::string> proc_names(const std::string& folder) {
  bool ignored = false;
  return proc_names(folder, ignored);
}

std::vector<pid_t> processes_of(pid_t root) {
  std::vector<pid_t> all{root};
  for (std::size_t i = 0; i < all.size() && i < kProcessesMax; ++i) add_children(all[i], all);
  all.resize(std::min(all.size(), kProcessesMax));
  return all;
}

}  // namespace remotist::volunteer
