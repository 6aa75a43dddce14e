// Runs a program as a daemon: the parent returns to the shell when the child is ready, and the child goes on
// without a terminal.
#pragma once

#include <filesystem>
#include <string_view>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

class Daemon {
 public:
  // Forks if `wanted`; the parent then only waits. Without it nothing is forked and the methods do nothing.
  // Call before any thread starts.
  Daemon(bool wanted, const std::filesystem::path& log);

  bool is_parent() const { return child_ > 0; }
  // In the parent: waits until the child is ready or has failed, and returns the exit status.
  int wait();
  // In the child.
  void set_ready();
  void set_failed(std::string_view why);

 private:
  void notify(std::string_view message);

  pid_t child_ = 0;
  Descriptor pipe_{};  // the parent's end, or the child's
  std::filesystem::path log_;
};

}  // namespace remotist::volunteer
