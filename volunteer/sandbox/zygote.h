// The host's side of a zygote: starts the process, sends it requests, kills it.
//
// Belongs to the thread that made it: the kernel kills the zygote when that thread exits.
#pragma once

#include <filesystem>
#include <optional>
#include <sys/types.h>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/fd_message.h"
#include "volunteer/sandbox/protections.h"
#include "volunteer/sandbox/uids.h"

namespace remotist::volunteer {

class Zygote {
 public:
  // Starts the runner in its own namespaces, as an unused uid of this machine (as root), with a fixed
  // environment. Returns before R is initialised. Throws std::runtime_error.
  Zygote(const std::filesystem::path& runner, const std::filesystem::path& guests,
         const Protections& protections, const Uids& uids, bool memory_counted);
  // Kills the zygote and so every guest, and waits until they are gone.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  pid_t process() const { return process_; }
  int control() const { return control_.get(); }  // non-blocking
  int pidfd() const { return pidfd_.get(); }
  bool alive() const;

  // Answered by kForked on control(), see launch.h.
  void request_fork();

 private:
  pid_t process_ = -1;
  Descriptor control_;
  Descriptor pidfd_;
};

}  // namespace remotist::volunteer
