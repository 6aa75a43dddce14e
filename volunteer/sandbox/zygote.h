// The zygote as its host sees it: a process that is started, spoken to and killed.
//
// Belongs to the thread that started it: the kernel kills the zygote with that thread.
#pragma once

#include <filesystem>
#include <optional>
#include <sys/types.h>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/layers.h"
#include "volunteer/sandbox/parcel.h"
#include "volunteer/sandbox/uids.h"

namespace remotist::volunteer {

class Zygote {
 public:
  // Starts the runner in namespaces of its own, as nobody that this machine knows, with an environment made
  // from nothing. Returns before R is there. Throws std::runtime_error.
  Zygote(const std::filesystem::path& runner, const std::filesystem::path& guests, const Layers& layers,
         const Uids& uids, bool memory_counted);
  // Kills it, and with it every guest, and waits until they are gone.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  pid_t process() const { return process_; }
  int control() const { return control_.get(); }  // does not block
  int pidfd() const { return pidfd_.get(); }
  bool alive() const;

  void ask_for_guest();

 private:
  pid_t process_ = -1;
  Descriptor control_;
  Descriptor pidfd_;
};

}  // namespace remotist::volunteer
