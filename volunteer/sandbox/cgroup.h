// Control groups for guests, where the machine has them: version 2, else version 1, else none.
//
// All groups are made below one group of this Sandbox (in version 1, one for each controller) and removed
// with it. One thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// The group of one guest; in version 1, one for each controller.
class Cgroup {
 public:
  struct Part {
    std::filesystem::path folder;
    bool unified;
  };
  explicit Cgroup(std::vector<Part> parts) : parts_(std::move(parts)) {}
  // Tries to remove the group.
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  // Each is false, with errno, when the kernel refused any part: then the guest must not run.
  bool add(pid_t process) const;
  bool limit(const GuestLimits& limits) const;

  // Stops all of its processes, or lets them go on; soon after the call. False where only version 1 is.
  bool set_frozen(bool frozen) const;

  // None where no controller measures it.
  std::optional<std::int64_t> cpu_us() const;
  std::optional<std::int64_t> ram_kb_peak() const;
  // Whether the OOM killer killed a process in it.
  bool out_of_memory() const;

  // Whether it was removed. False while it has processes.
  bool remove();

 private:
  std::vector<Part> parts_;
};

class Cgroups {
 public:
  // Finds the controllers that this process may use, possibly none, and removes groups that killed agents
  // left.
  Cgroups();
  ~Cgroups();
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  bool memory() const { return !memory_.empty(); }
  bool processes() const { return !processes_.empty(); }
  bool cpu() const { return !cpu_.empty(); }
  bool any() const { return memory() || processes() || cpu() || !cpu_time_.empty(); }

  // Null, with errno, when a group cannot be made. Requires any().
  std::unique_ptr<Cgroup> make(const std::string& name) const;

 private:
  bool make_version_2_group();
  void make_version_1_groups();

  bool unified_ = false;
  std::filesystem::path memory_;
  std::filesystem::path processes_;
  std::filesystem::path cpu_;
  std::filesystem::path cpu_time_;
  std::vector<Descriptor> locks_;
};

}  // namespace remotist::volunteer
