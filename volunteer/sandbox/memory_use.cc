#include "volunteer/sandbox/memory_use.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <format>
#include <fstream>
#include <linux/kcmp.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "volunteer/sandbox/process_tree.h"
#include "volunteer/sandbox/rlimits.h"

namespace remotist::volunteer {

namespace {

constexpr std::int64_t kPipeKb = 64;  // policy.cc does not let jobs enlarge them

// The proportional set size: each process is charged its share of a shared page.
std::int64_t proportional_kb(std::istream& lines) {
  std::int64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line};
    std::string name;
    std::int64_t kb = 0;
    fields >> name >> kb;
    if (name == "Pss:" || name == "SwapPss:") sum += kb;
  }
  return sum;
}

// False also where the kernel has no kcmp().
bool share(pid_t one, pid_t other, int what) {
  return ::syscall(SYS_kcmp, one, other, what, 0, 0) == 0;
}

}  // namespace

std::string memory_excess(const MemoryUse& use, const GuestLimits& limits) {
  if (use.kb > cgroup_memory_bytes(limits) / 1024)
    return "The job's processes together used more memory than it asked for.";
  if (use.pipes > static_cast<std::size_t>(limits.pipes_max))
    return std::format("The job had more than {} pipes open.", limits.pipes_max);
  if (use.hidden) {
    return "The job ran a program that may be executed but not read, so that this machine cannot measure its "
           "memory.";
  }
  if (use.locks > static_cast<std::size_t>(limits.locks_max))
    return std::format("The job held more than {} locks on files.", limits.locks_max);
  return {};
}

std::optional<MemoryUse> MemoryScan::resume(pid_t root, bool counted, const std::function<bool()>& suspend) {
  if (left_.empty()) {
    left_ = processes_of(root);
    scanned_.clear();
    pipes_.clear();
    kb_ = 0;
    locks_ = 0;
    hidden_ = false;
  }
  while (!left_.empty()) {
    if (suspend()) return std::nullopt;
    if (!counted) add_memory(left_.back());
    add_descriptors(left_.back(), counted);
    left_.pop_back();
  }
  const bool was_hidden = std::exchange(was_hidden_, hidden_);
  return MemoryUse{kb_ + kPipeKb * static_cast<std::int64_t>(pipes_.size()), pipes_.size(), locks_,
                   hidden_ && was_hidden};
}

// Of a process whose first thread has exited, only the other threads show the memory.
std::string MemoryScan::rollup_of(pid_t process) {
  auto text = proc_text(std::format("/proc/{}/smaps_rollup", process), hidden_);
  if (!text.empty()) return text;
  const auto tasks = std::format("/proc/{}/task", process);
  for (const auto& thread : proc_names(tasks, hidden_)) {
    text = proc_text(std::format("{}/{}/smaps_rollup", tasks, thread), hidden_);
    if (!text.empty()) break;
  }
  return text;
}

void MemoryScan::add_memory(pid_t process) {
  std::istringstream rollup{rollup_of(process)};
  std::string range;
  std::getline(rollup, range);
  if (!range.empty() && is_new_memory(process, range)) kb_ += proportional_kb(rollup);
}

// A child between vfork() and exec() uses its parent's memory, which must not count twice.
bool MemoryScan::is_new_memory(pid_t process, const std::string& range) {
  auto& alike = scanned_[range];
  const bool is_new =
      std::ranges::none_of(alike, [process](pid_t other) { return share(process, other, KCMP_VM); });
  alike.push_back(process);
  return is_new;
}

// A thread may have its own descriptor table.
void MemoryScan::add_descriptors(pid_t process, bool counted) {
  const auto tasks = std::format("/proc/{}/task", process);
  pid_t last_scanned = 0;
  for (const auto& thread : proc_names(tasks, hidden_)) {
    const auto id = static_cast<pid_t>(std::atoi(thread.c_str()));
    if (last_scanned != 0 && share(last_scanned, id, KCMP_FILES)) continue;
    const auto folder = std::format("{}/{}/fd", tasks, thread);
    const auto names = proc_names(folder, hidden_);
    if (!names.empty()) last_scanned = id;
    for (const auto& name : names) {
      add_locks(std::format("{}info/{}", folder, name));
      struct stat state{};
      if (counted) continue;
      if (::stat(std::format("{}/{}", folder, name).c_str(), &state) != 0) {
        hidden_ = hidden_ || is_hidden(errno, folder);
      } else if (S_ISFIFO(state.st_mode)) {
        pipes_.emplace(state.st_dev, state.st_ino);
      }
    }
  }
}

// fdinfo has a line for each lock that was taken through the descriptor. /proc/locks would block every
// process of the machine that locks a file while it is read.
void MemoryScan::add_locks(const std::string& description) {
  if (locks_ > locks_max_) return;
  errno = 0;
  std::ifstream file{description};
  hidden_ = hidden_ || (!file && is_hidden(errno, description));
  for (std::string line; locks_ <= locks_max_ && std::getline(file, line);) {
    if (line.starts_with("lock:")) ++locks_;
  }
}

}  // namespace remotist::volunteer
