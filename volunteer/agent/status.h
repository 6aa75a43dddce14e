// The status that `volunteer-agent status` prints.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/protocol.h"
#include "volunteer/agent/state_folder.h"

namespace remotist::volunteer {

struct Status {
  const LentMachine& machine;
  std::string url;
  bool connected;
  bool taking_jobs;
  bool paused;
  bool battery_low;
  std::string connection_error;  // empty while the connection works
  bool sandbox_ready;
  std::vector<std::string> missing;  // protections that are not available
  pid_t zygote;
  std::vector<protocol::Beat::Running> running;
  std::uint64_t jobs_ended;
  std::int64_t cache_bytes;
};

// One JSON object; adds the agent's own process id and memory, and the zygote's.
std::string status_text(const Status& status);
// The same for people.
std::string status_report(const std::string& text);

// The proportional set size of a process; 0 when it cannot be read.
std::int64_t pss_kb(pid_t process);

}  // namespace remotist::volunteer
