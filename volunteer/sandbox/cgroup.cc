#include "volunteer/sandbox/cgroup.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/process_tree.h"
#include "volunteer/sandbox/rlimits.h"

namespace remotist::volunteer {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPeriodUs = 100'000;
const fs::path kTop = "/sys/fs/cgroup";
constexpr auto kAgentGroup = "remotist-agent";
constexpr auto kSandboxPrefix = "remotist-sandbox-";
constexpr auto kControllers = "+memory +pids +cpu";

bool write_file(const fs::path& file, const std::string& text) {
  const Descriptor out{::open(file.c_str(), O_WRONLY | O_CLOEXEC)};
  return out && ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// True also where the file does not exist: this kernel lacks the feature.
bool write_if_exists(const fs::path& file, const std::string& text) {
  return write_file(file, text) || errno == ENOENT;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::istringstream text{proc_text(file)};
  std::int64_t value = 0;
  if (!(text >> value)) return std::nullopt;
  return value;
}

// "key 12" in a file of such lines.
std::optional<std::int64_t> number_named(const fs::path& file, std::string_view name) {
  std::istringstream text{proc_text(file)};
  std::string key;
  std::int64_t value = 0;
  while (text >> key >> value) {
    if (key == name) return value;
  }
  return std::nullopt;
}

// The group of this process; "" names version 2.
fs::path own_group(std::string_view controller) {
  std::ifstream file{"/proc/self/cgroup"};
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if ((controller.empty() && names == ",,") || names.contains(std::format(",{},", controller))) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

fs::path below(const fs::path& top, const fs::path& inner) {
  return inner == "/" ? top : top / inner.relative_path();
}

bool names_all(const fs::path& file) {
  const std::string names = " " + proc_text(file) + " ";
  const auto has = [&names](const char* name) {
    const auto at = names.find(std::string(" ") + name);
    return at != std::string::npos && std::string(" \n").contains(names[at + std::string(name).size() + 1]);
  };
  return has("memory") && has("pids") && has("cpu");
}

// Removes a sandbox's group with the guests' groups. False while one has processes.
bool remove_tree(const fs::path& group) {
  std::error_code ignored;
  for (const auto& guest : fs::directory_iterator(group, ignored)) {
    if (guest.is_directory(ignored)) ::rmdir(guest.path().c_str());
  }
  return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

// Locks a sandbox's group, which marks it as in use. Returns the descriptor that holds the lock, or -1 when
// the group is in use.
int lock_group(const fs::path& group) {
  Descriptor folder{::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return -1;
  return folder.release();
}

// Removes the groups of agents that were killed.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& group : fs::directory_iterator(parent, ignored)) {
    if (!group.path().filename().string().starts_with(kSandboxPrefix)) continue;
    const Descriptor lock{lock_group(group.path())};
    if (lock) remove_tree(group.path());
  }
}

// A group whose subgroups have controllers may not contain processes itself. Where this is the only process
// of a delegated group, it moves to a subgroup.
bool is_alone_in(const fs::path& group) {
  std::istringstream processes{proc_text(group / "cgroup.procs")};
  for (pid_t process = 0; processes >> process;) {
    if (process != ::getpid()) return false;
  }
  return true;
}

void move_to_subgroup(const fs::path& group) {
  ::mkdir((group / kAgentGroup).c_str(), 0755);
  write_file(group / kAgentGroup / "cgroup.procs", std::to_string(::getpid()));
}

std::string new_group_name() {
  std::random_device random;
  return std::format("{}{:016x}", kSandboxPrefix, std::uniform_int_distribution<std::uint64_t>{}(random));
}

}  // namespace

Cgroup::~Cgroup() {
  remove();
}

bool Cgroup::add(pid_t process) const {
  return std::ranges::all_of(parts_, [process](const Part& part) {
    return write_file(part.folder / "cgroup.procs", std::to_string(process));
  });
}

bool Cgroup::limit(const GuestLimits& limits) const {
  const auto memory = std::to_string(cgroup_memory_bytes(limits));
  // One more for the guest's first process, which is not the job's.
  const auto processes = std::to_string(limits.processes_max + 1);
  const auto quota = std::to_string(limits.cpu_cores * kPeriodUs);
  return std::ranges::all_of(parts_, [&](const Part& part) {
    const auto& folder = part.folder;
    if (part.unified) {
      return write_file(folder / "memory.max", memory) && write_if_exists(folder / "memory.swap.max", "0") &&
             write_file(folder / "pids.max", processes) &&
             write_file(folder / "cpu.max", std::format("{} {}", quota, kPeriodUs));
    }
    // A version 1 group has the files of one controller only; each that exists must accept its value.
    return ::access(folder.c_str(), F_OK) == 0 && write_if_exists(folder / "memory.limit_in_bytes", memory) &&
           write_if_exists(folder / "memory.memsw.limit_in_bytes", memory) &&
           write_if_exists(folder / "pids.max", processes) &&
           write_if_exists(folder / "cpu.cfs_quota_us", quota);
  });
}

bool Cgroup::set_frozen(bool frozen) const {
  const auto part = std::ranges::find(parts_, true, &Part::unified);
  return part != parts_.end() && write_file(part->folder / "cgroup.freeze", frozen ? "1" : "0");
}

std::optional<std::int64_t> Cgroup::cpu_us() const {
  for (const auto& part : parts_) {
    if (part.unified) return number_named(part.folder / "cpu.stat", "usage_usec");
    if (const auto ns = number_in(part.folder / "cpuacct.usage")) return *ns / 1000;
  }
  return std::nullopt;
}

std::optional<std::int64_t> Cgroup::ram_kb_peak() const {
  for (const auto& part : parts_) {
    const auto bytes = number_in(part.folder / (part.unified ? "memory.peak" : "memory.max_usage_in_bytes"));
    if (bytes) return *bytes / 1024;
  }
  return std::nullopt;
}

bool Cgroup::out_of_memory() const {
  for (const auto& part : parts_) {
    const auto kills =
        number_named(part.folder / (part.unified ? "memory.events" : "memory.oom_control"), "oom_kill");
    if (kills.value_or(0) > 0) return true;
  }
  return false;
}

bool Cgroup::remove() {
  std::erase_if(parts_,
                [](const Part& part) { return ::rmdir(part.folder.c_str()) == 0 || errno == ENOENT; });
  return parts_.empty();
}

Cgroups::Cgroups() {
  if (!make_version_2_group()) make_version_1_groups();
}

bool Cgroups::make_version_2_group() {
  if (::access((kTop / "cgroup.controllers").c_str(), R_OK) != 0) return false;
  auto own = below(kTop, own_group(""));
  if (own.filename() == kAgentGroup) own = own.parent_path();
  std::vector<fs::path> candidates{own};
  if (::geteuid() == 0) candidates.push_back(kTop);
  for (const auto& parent : candidates) {
    if (!names_all(parent / "cgroup.controllers")) continue;
    if (!write_file(parent / "cgroup.subtree_control", kControllers) && errno == EBUSY &&
        is_alone_in(parent)) {
      move_to_subgroup(parent);
      write_file(parent / "cgroup.subtree_control", kControllers);
    }
    if (!names_all(parent / "cgroup.subtree_control")) continue;
    remove_abandoned(parent);
    const fs::path group = parent / new_group_name();
    if (::mkdir(group.c_str(), 0755) != 0) continue;
    locks_.emplace_back(lock_group(group));
    if (!write_file(group / "cgroup.subtree_control", kControllers)) {
      ::rmdir(group.c_str());
      continue;
    }
    unified_ = true;
    memory_ = processes_ = cpu_ = cpu_time_ = group;
    return true;
  }
  return false;
}

void Cgroups::make_version_1_groups() {
  const std::string name = new_group_name();
  const auto make_group = [this, &name](const char* controller, const char* proof) -> fs::path {
    const fs::path mount = kTop / controller;
    if (::access((mount / "cgroup.procs").c_str(), F_OK) != 0) return {};
    const fs::path parent = below(mount, own_group(controller));
    remove_abandoned(parent);
    const fs::path group = parent / name;
    if (::mkdir(group.c_str(), 0755) != 0) return {};
    locks_.emplace_back(lock_group(group));
    if (::access((group / proof).c_str(), F_OK) == 0) return group;
    ::rmdir(group.c_str());
    return {};
  };
  memory_ = make_group("memory", "memory.limit_in_bytes");
  processes_ = make_group("pids", "pids.max");
  cpu_ = make_group("cpu", "cpu.cfs_quota_us");
  cpu_time_ = make_group("cpuacct", "cpuacct.usage");
}

Cgroups::~Cgroups() {
  for (const auto& group : std::set<fs::path>{memory_, processes_, cpu_, cpu_time_}) {
    // The kernel refuses to remove a group for a moment after its last process has exited.
    for (int tries = 0; !group.empty() && !remove_tree(group) && tries < 50; ++tries) ::usleep(10'000);
  }
}

std::unique_ptr<Cgroup> Cgroups::make(const std::string& name) const {
  std::vector<Cgroup::Part> parts;
  for (const auto& group : std::set<fs::path>{memory_, processes_, cpu_, cpu_time_}) {
    if (group.empty()) continue;
    const fs::path folder = group / name;
    if (::mkdir(folder.c_str(), 0755) != 0) {
      const int problem = errno;
      Cgroup{std::move(parts)}.remove();
      errno = problem;
      return nullptr;
    }
    parts.push_back({folder, unified_});
  }
  return std::make_unique<Cgroup>(std::move(parts));
}

}  // namespace remotist::volunteer
