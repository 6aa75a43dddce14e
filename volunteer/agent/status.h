// What an agent says about itself.
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
  std::string trouble;  // empty while all is well
  bool sandbox_ready;
  std::vector<std::string> missing;  // defences that it has to do without
  pid_t zygote;
  std::vector<protocol::Beat::Running> running;
  std::uint64_t jobs_ended;
  std::int64_t cache_bytes;
};

// One JSON object; adds the agent's own process id and memory, and the zygote's.
std::string status_text(const Status& status);
// The same for people.
std::string status_words(const std::string& text);

// The memory of a process that is its own or its share of what it shares, in kB; 0 when it cannot be read.
std::int64_t pss_kb(pid_t process);

}  // namespace remotist::volunteer
