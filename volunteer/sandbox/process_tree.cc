#include "volunteer/sandbox/process_tree.h"

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

std::string text_in(const std::string& file) {
  std::string text(8192, '\0');
  const Descriptor in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  const ssize_t got = in ? ::read(in.get(), text.data(), text.size()) : 0;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* listing = ::opendir(folder.c_str());
  if (listing == nullptr) return names;
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(listing);
  return names;
}

// Each thread has its own children.
void add_children(pid_t process, std::vector<pid_t>& all) {
  const auto tasks = std::format("/proc/{}/task", process);
  for (const auto& thread : names_in(tasks)) {
    std::istringstream children{text_in(std::format("{}/{}/children", tasks, thread))};
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
}

// utime, stime, cutime and cstime: the fields 14 to 17, after a name that may hold anything.
std::int64_t cpu_ticks(pid_t process) {
  const auto text = text_in(std::format("/proc/{}/stat", process));
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields{text.substr(name_end + 2)};
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  std::int64_t sum = 0;
  for (int field = 14; field <= 17; ++field) {
    std::int64_t ticks = 0;
    fields >> ticks;
    sum += ticks;
  }
  return sum;
}

std::int64_t private_kb(pid_t process) {
  std::istringstream lines{text_in(std::format("/proc/{}/smaps_rollup", process))};
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
  for (const auto& name : names_in(folder)) {
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

TreeUse use_of_tree(pid_t root, bool with_files) {
  TreeUse use;
  std::vector<pid_t> all{root};
  std::set<std::pair<dev_t, ino_t>> files;
  std::int64_t ticks = 0;
  for (std::size_t i = 0; i < all.size() && i < kProcessesMax; ++i) {
    const pid_t process = all[i];
    add_children(process, all);
    ticks += cpu_ticks(process);
    if (!with_files) use.private_kb += private_kb(process);
    if (with_files) {
      add_unnamed(process, files, use.unnamed_bytes);
      add_unnamed_mappings(process, files, use.unnamed_bytes);
    }
  }
  use.cpu_ms = ticks * 1000 / ::sysconf(_SC_CLK_TCK);
  return use;
}

}  // namespace remotist::volunteer
