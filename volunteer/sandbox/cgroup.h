// Control groups for guests, where the machine has them: version 2, else version 1, else none.
//
// Everything is made below one group of this process and removed with it.
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

// The groups of one guest, removed with it once its processes are gone.
class Cgroup {
 public:
  struct Part {
    std::filesystem::path folder;
    bool unified;
  };
  explicit Cgroup(std::vector<Part> parts) : parts_(std::move(parts)) {}
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  // Each false, with errno, when the kernel refused any part of it: the guest must then not run.
  bool admit(pid_t process) const;
  bool limit(const GuestLimits& limits) const;

  // None where no controller counts it.
  std::optional<std::int64_t> cpu_us() const;
  std::optional<std::int64_t> ram_kb_peak() const;
  // Whether the kernel killed something in it for want of memory.
  bool out_of_memory() const;

  // Whether it could be removed. False while a process is in it.
  bool remove();

 private:
  std::vector<Part> parts_;
};

class Cgroups {
 public:
  // Looks for what this process may use. Never fails: what is not there is not used.
  Cgroups();
  ~Cgroups();
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  bool memory() const { return !memory_.empty(); }
  bool processes() const { return !processes_.empty(); }
  bool cpu() const { return !cpu_.empty(); }
  bool any() const { return memory() || processes() || cpu() || !cpu_time_.empty(); }

  // None, with errno, when a group cannot be made. Requires any().
  std::unique_ptr<Cgroup> make(const std::string& name) const;

 private:
  bool take_unified();
  void take_version_1();

  bool unified_ = false;
  std::filesystem::path memory_;
  std::filesystem::path processes_;
  std::filesystem::path cpu_;
  std::filesystem::path cpu_time_;
  std::vector<Descriptor> locks_;
};

}  // namespace remotist::volunteer
