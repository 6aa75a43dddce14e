// A program that returns to the shell once it serves, and goes on without a terminal.
#pragma once

#include <filesystem>
#include <string_view>

#include "volunteer/agent/folder.h"

namespace remotist::volunteer {

class Background {
 public:
  // With `wanted` there are two processes from here on: the parent only waits. Call before any thread starts.
  Background(bool wanted, const std::filesystem::path& log);

  bool is_parent() const { return child_ > 0; }
  // In the parent: until the child is ready or has failed; the exit status to give.
  int wait();
  // In the child, and without `wanted` nothing at all.
  void is_ready();
  void failed(std::string_view why);

 private:
  void tell(std::string_view words);

  pid_t child_ = 0;
  Descriptor pipe_{};  // the parent's end, or the child's
  std::filesystem::path log_;
};

}  // namespace remotist::volunteer
