// Decides how a guest ended, from the host's observations and the guest's messages. Pure.
#pragma once

#include <optional>
#include <string>

#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/guest_message.h"

namespace remotist::volunteer {

// What is known about a guest when all its processes are gone.
struct Evidence {
  bool began = false;                           // Began was received: the script may have run
  std::optional<std::string> refused{};         // why the sandbox could not be set up
  std::optional<GuestMessage> final_message{};  // the first Completed or Failed
  std::optional<int> wait_status{};             // of the job's process; none: its first process was killed
  bool stopped = false;                         // by Sandbox::stop()
  std::optional<Limit> limit{};                 // the host killed it at this limit
  std::string limit_message{};
  std::optional<Limit> full{};  // disc or inodes: its file system was full
  std::string full_message{};
  bool out_of_memory = false;  // the kernel's OOM killer was active in its cgroup
  bool result_exists = false;  // as a regular file
  bool zygote_died = false;
  bool resuming = false;                        // from a checkpoint
  bool resumed = false;                         // Resumed was received: the script has gone on
  std::optional<std::string> resume_failure{};  // why it could not, as the guest says
};

// Sets everything but the measurements and the list of files.
Verdict judge(const Evidence& evidence);

}  // namespace remotist::volunteer
