#include "volunteer/sandbox/deleted_files.h"

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

// Of deleted files, by inode number alone: btrfs tells other device numbers in maps than stat() does, and a
// guest writes to one file system only.
using Inodes = std::set<unsigned long>;

// Where the kernel keeps memory that processes share; its pages are no files of the guest.
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

// Whether there were any: a thread that has ended shows none. Reads no more than `left` lines, and counts
// them down.
bool each_mapping(const std::string& task, std::int64_t& left, const auto& visit) {
  std::ifstream maps{task + "/maps"};
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
  for (const auto& name : proc_names(task + "/fd")) {
    struct stat state{};
    if (::stat(std::format("{}/fd/{}", task, name).c_str(), &state) != 0) continue;
    if (!S_ISREG(state.st_mode) || state.st_nlink != 0 || !seen.insert(state.st_ino).second) continue;
    found.bytes += state.st_blocks * 512;
    ++found.files;
  }
}

}  // namespace

DeletedFiles deleted_files_of(pid_t first_process, std::int64_t mapped_file_bytes) {
  static const dev_t kSharedMemory = shared_memory_device();
  DeletedFiles found;
  Inodes seen;
  std::set<std::pair<dev_t, unsigned long>> of_machine;
  std::int64_t left = kMappingsMax;
  each_mapping(std::format("/proc/{}", first_process), left,
               [&](const Mapping& one) { of_machine.emplace(one.device, one.inode); });
  const auto processes = processes_of(first_process);
  // Descriptors first: they tell a size. Each thread may have a table of its own.
  for (const pid_t process : processes) {
    const auto tasks = std::format("/proc/{}/task", process);
    for (const auto& thread : proc_names(tasks)) add_open(tasks + "/" + thread, seen, found);
  }
  for (const pid_t process : processes) {
    const auto tasks = std::format("/proc/{}/task", process);
    for (const auto& thread : proc_names(tasks)) {
      const bool shown = each_mapping(tasks + "/" + thread, left, [&](const Mapping& one) {
        if (!one.deleted || one.device == kSharedMemory) return;
        if (of_machine.contains({one.device, one.inode}) || !seen.insert(one.inode).second) return;
        found.bytes += mapped_file_bytes;
        found.unmeasured = true;
        ++found.files;
      });
      if (shown) break;  // threads share their memory; the first may have ended before the others
    }
  }
  // What was not read may be anything.
  if (left == 0) {
    found.bytes += mapped_file_bytes;
    found.unmeasured = true;
  }
  return found;
}

}  // namespace remotist::volunteer
