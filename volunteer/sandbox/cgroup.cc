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
constexpr auto kHousePrefix = "remotist-house-";
constexpr auto kControllers = "+memory +pids +cpu";

bool put(const fs::path& file, const std::string& text) {
  const Descriptor out{::open(file.c_str(), O_WRONLY | O_CLOEXEC)};
  return out && ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A kernel without the feature has no such file.
bool put_if_there(const fs::path& file, const std::string& text) {
  return put(file, text) || errno == ENOENT;
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

// Of this process; "" names version 2.
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

// A group and those in it. False while one has processes.
bool remove_tree(const fs::path& house) {
  std::error_code ignored;
  for (const auto& guest : fs::directory_iterator(house, ignored)) {
    if (guest.is_directory(ignored)) ::rmdir(guest.path().c_str());
  }
  return ::rmdir(house.c_str()) == 0 || errno == ENOENT;
}

// A house holds a lock on its group, so that another one knows that it is in use. -1 when it is.
int lock_group(const fs::path& group) {
  Descriptor folder{::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return -1;
  return folder.release();
}

// Of houses that were killed before they could tidy up.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& group : fs::directory_iterator(parent, ignored)) {
    if (!group.path().filename().string().starts_with(kHousePrefix)) continue;
    const Descriptor lock{lock_group(group.path())};
    if (lock) remove_tree(group.path());
  }
}

// A group that has groups with controllers below it may hold no process itself. Where a delegated group has
// only us in it, we move one down.
bool is_alone_in(const fs::path& group) {
  std::istringstream processes{proc_text(group / "cgroup.procs")};
  for (pid_t process = 0; processes >> process;) {
    if (process != ::getpid()) return false;
  }
  return true;
}

void step_aside(const fs::path& group) {
  ::mkdir((group / kAgentGroup).c_str(), 0755);
  put(group / kAgentGroup / "cgroup.procs", std::to_string(::getpid()));
}

std::string house_name() {
  std::random_device random;
  return std::format("{}{:016x}", kHousePrefix, std::uniform_int_distribution<std::uint64_t>{}(random));
}

}  // namespace

Cgroup::~Cgroup() {
  remove();
}

bool Cgroup::admit(pid_t process) const {
  return std::ranges::all_of(parts_, [process](const Part& part) {
    return put(part.folder / "cgroup.procs", std::to_string(process));
  });
}

bool Cgroup::limit(const GuestLimits& limits) const {
  const auto memory = std::to_string(cgroup_memory_bytes(limits));
  // The first process of a guest is ours and not the job's.
  const auto processes = std::to_string(limits.processes_max + 1);
  const auto quota = std::to_string(limits.cpu_cores * kPeriodUs);
  return std::ranges::all_of(parts_, [&](const Part& part) {
    const auto& folder = part.folder;
    if (part.unified) {
      return put(folder / "memory.max", memory) && put_if_there(folder / "memory.swap.max", "0") &&
             put(folder / "pids.max", processes) &&
             put(folder / "cpu.max", std::format("{} {}", quota, kPeriodUs));
    }
    // A group of version 1 has the files of its own controller only, and each of those must take its value.
    return ::access(folder.c_str(), F_OK) == 0 && put_if_there(folder / "memory.limit_in_bytes", memory) &&
           put_if_there(folder / "memory.memsw.limit_in_bytes", memory) &&
           put_if_there(folder / "pids.max", processes) && put_if_there(folder / "cpu.cfs_quota_us", quota);
  });
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
  if (!take_unified()) take_version_1();
}

bool Cgroups::take_unified() {
  if (::access((kTop / "cgroup.controllers").c_str(), R_OK) != 0) return false;
  auto own = below(kTop, own_group(""));
  if (own.filename() == kAgentGroup) own = own.parent_path();
  std::vector<fs::path> candidates{own};
  if (::geteuid() == 0) candidates.push_back(kTop);
  for (const auto& parent : candidates) {
    if (!names_all(parent / "cgroup.controllers")) continue;
    if (!put(parent / "cgroup.subtree_control", kControllers) && errno == EBUSY && is_alone_in(parent)) {
      step_aside(parent);
      put(parent / "cgroup.subtree_control", kControllers);
    }
    if (!names_all(parent / "cgroup.subtree_control")) continue;
    remove_abandoned(parent);
    const fs::path house = parent / house_name();
    if (::mkdir(house.c_str(), 0755) != 0) continue;
    locks_.emplace_back(lock_group(house));
    if (!put(house / "cgroup.subtree_control", kControllers)) {
      ::rmdir(house.c_str());
      continue;
    }
    unified_ = true;
    memory_ = processes_ = cpu_ = cpu_time_ = house;
    return true;
  }
  return false;
}

void Cgroups::take_version_1() {
  const std::string name = house_name();
  const auto take = [this, &name](const char* controller, const char* proof) -> fs::path {
    const fs::path mount = kTop / controller;
    if (::access((mount / "cgroup.procs").c_str(), F_OK) != 0) return {};
    const fs::path parent = below(mount, own_group(controller));
    remove_abandoned(parent);
    const fs::path house = parent / name;
    if (::mkdir(house.c_str(), 0755) != 0) return {};
    locks_.emplace_back(lock_group(house));
    if (::access((house / proof).c_str(), F_OK) == 0) return house;
    ::rmdir(house.c_str());
    return {};
  };
  memory_ = take("memory", "memory.limit_in_bytes");
  processes_ = take("pids", "pids.max");
  cpu_ = take("cpu", "cpu.cfs_quota_us");
  cpu_time_ = take("cpuacct", "cpuacct.usage");
}

Cgroups::~Cgroups() {
  for (const auto& house : std::set<fs::path>{memory_, processes_, cpu_, cpu_time_}) {
    // The last processes may have died a moment ago; the kernel takes its time to let go.
    for (int tries = 0; !house.empty() && !remove_tree(house) && tries < 50; ++tries) ::usleep(10'000);
  }
}

std::unique_ptr<Cgroup> Cgroups::make(const std::string& name) const {
  std::vector<Cgroup::Part> parts;
  for (const auto& house : std::set<fs::path>{memory_, processes_, cpu_, cpu_time_}) {
    if (house.empty()) continue;
    const fs::path folder = house / name;
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
