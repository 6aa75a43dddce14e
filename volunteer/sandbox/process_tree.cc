#include "volunteer/sandbox/process_tree.h"

#include <algorithm>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

namespace {

constexpr std::size_t kProcessesMax = 4096;
constexpr std::size_t kMappingsMax = 20'000;

// Each thread has its own children.
void add_children(pid_t process, std::vector<pid_t>& all) {
  const auto tasks = std::format("/proc/{}/task", process);
  for (const auto& thread : proc_names(tasks)) {
    std::istringstream children{proc_text(std::format("{}/{}/children", tasks, thread))};
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
}

std::int64_t private_kb(pid_t process) {
  std::istringstream lines{proc_text(std::format("/proc/{}/smaps_rollup", process))};
  std::int64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line};
    std::string name;
    std::int64_t kb = 0;
    fields >> name >> kb;
    if (name == "Private_Dirty:" || name == "Private_Clean:" || name == "Swap:") sum += kb;
  }
  return sum;
}

void add_unnamed(pid_t process, std::set<std::pair<dev_t, ino_t>>& seen, std::int64_t& bytes) {
  const auto folder = std::format("/proc/{}/fd", process);
  for (const auto& name : proc_names(folder)) {
    struct stat state{};
    if (::stat(std::format("{}/{}", folder, name).c_str(), &state) != 0) continue;
    if (!S_ISREG(state.st_mode) || state.st_nlink != 0) continue;
    if (seen.emplace(state.st_dev, state.st_ino).second) bytes += state.st_blocks * 512;
  }
}

// A deleted file can also be held by a mapping alone; its size is then at least what is mapped of it.
void add_unnamed_mappings(pid_t process, std::set<std::pair<dev_t, ino_t>>& seen, std::int64_t& bytes) {
  std::ifstream maps{std::format("/proc/{}/maps", process)};
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line) && lines < kMappingsMax; ++lines) {
    if (!line.ends_with(" (deleted)") || line.contains("/memfd:") || line.contains("/dev/zero")) continue;
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned major = 0;
    unsigned minor = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %x:%x %lu", &begin, &end, &major, &minor, &inode) != 5)
      continue;
    if (seen.emplace(makedev(major, minor), inode).second) bytes += static_cast<std::int64_t>(end - begin);
  }
}

}  // namespace

std::string proc_text(const std::string& file) {
  std::string text(8192, '\0');
  const Descriptor in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  const ssize_t got = in ? ::read(in.get(), text.data(), text.size()) : 0;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::vector<std::string> proc_names(const std::string& folder) {
  std::vector<std::string> names;
  DIR* listing = ::opendir(folder.c_str());
  if (listing == nullptr) return names;
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(listing);
  return names;
}

std::vector<pid_t> processes_of(pid_t root) {
  std::vector<pid_t> all{root};
  for (std::size_t i = 0; i < all.size() && i < kProcessesMax; ++i) add_children(all[i], all);
  all.resize(std::min(all.size(), kProcessesMax));
  return all;
}

TreeUse use_of_tree(pid_t root, bool with_files) {
  TreeUse use;
  std::set<std::pair<dev_t, ino_t>> files;
  for (const pid_t process : processes_of(root)) {
    if (with_files) {
      add_unnamed(process, files, use.unnamed_bytes);
      add_unnamed_mappings(process, files, use.unnamed_bytes);
    } else {
      use.private_kb += private_kb(process);
    }
  }
  return use;
}

}  // namespace remotist::volunteer
