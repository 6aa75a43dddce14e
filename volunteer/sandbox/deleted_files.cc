#include "volunteer/sandbox/deleted_files.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/process_tree.h"

namespace remotist::volunteer {

namespace {

// Without device numbers: on btrfs those in maps differ from those of stat(), and a guest writes to one file
// system only.
using Inodes = std::set<unsigned long>;

// The device of shared memory and memfds, which are memory and not files of the guest.
dev_t shared_memory_device() {
  const Descriptor memory{::memfd_create("device", MFD_CLOEXEC)};
  struct stat state{};
  return memory && ::fstat(memory.get(), &state) == 0 ? state.st_dev : 0;
}

struct Mapping {
  dev_t device;
  unsigned long inode;
  bool deleted;
};

// Whether there were any mappings: a thread that has exited shows none. Reads at most `left` lines and
// subtracts them.
bool each_mapping(const std::string& task, std::int64_t& left, bool& hidden, const auto& visit) {
  errno = 0;
  std::ifstream maps{task + "/maps"};
  if (!maps && is_hidden(errno, task)) hidden = true;
  bool any = false;
  for (std::string line; left > 0 && std::getline(maps, line); --left) {
    any = true;
    unsigned major = 0;
    unsigned minor = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%*x-%*x %*s %*s %x:%x %lu", &major, &minor, &inode) != 3 || inode == 0)
      continue;
    visit(Mapping{makedev(major, minor), inode, line.ends_with(" (deleted)")});
  }
  return any;
}

void add_open(const std::string& task, Inodes& seen, DeletedFiles& found) {
  for (const auto& name : proc_names(task + "/fd", found.hidden)) {
    struct stat state{};
    if (::stat(std::format("{}/fd/{}", task, name).c_str(), &state) != 0) {
      found.hidden = found.hidden || is_hidden(errno, task);
      continue;
    }
    if (!S_ISREG(state.st_mode) || state.st_nlink != 0 || !seen.insert(state.st_ino).second) continue;
    found.bytes += state.st_blocks * 512;
    ++found.files;
  }
}

}  // namespace

DeletedFiles deleted_files_of(pid_t first_process, std::int64_t mapped_file_bytes) {
  static const dev_t shared_memory = shared_memory_device();
  DeletedFiles found;
  Inodes seen;
  std::set<std::pair<dev_t, unsigned long>> of_host;
  std::int64_t left = kMappingsMax;
  each_mapping(std::format("/proc/{}", first_process), left, found.hidden,
               [&](const Mapping& one) { of_host.emplace(one.device, one.inode); });
  const auto processes = processes_of(first_process);
  // Descriptors first, because they show the size. Each thread may have its own table.
  for (const pid_t process : processes) {
    const auto tasks = std::format("/proc/{}/task", process);
    for (const auto& thread : proc_names(tasks, found.hidden)) add_open(tasks + "/" + thread, seen, found);
  }
  for (const pid_t process : processes) {
    const auto tasks = std::format("/proc/{}/task", process);
    for (const auto& thread : proc_names(tasks, found.hidden)) {
      const bool shown = each_mapping(tasks + "/" + thread, left, found.hidden, [&](const Mapping& one) {
        if (!one.deleted || one.device == shared_memory) return;
        if (of_host.contains({one.device, one.inode}) || !seen.insert(one.inode).second) return;
        found.bytes += mapped_file_bytes;
        found.unmeasured = true;
        ++found.files;
      });
      if (shown) break;  // threads share memory, but the first may have exited
    }
  }
  // The mappings that were not read may be of any file.
  if (left == 0) {
    found.bytes += mapped_file_bytes;
    found.unmeasured = true;
  }
  return found;
}

}  // namespace remotist::volunteer
