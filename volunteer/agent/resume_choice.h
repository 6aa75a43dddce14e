// Which of a job's checkpoints this machine goes on from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "volunteer/agent/machine_software.h"

namespace remotist::volunteer {

// What a market says about a checkpoint of the job. An earlier attempt's machine has said most of it.
struct OfferedCheckpoint {
  std::int64_t sequence = 0;
  std::int64_t format = 0;
  std::string r_version{};
  std::string architecture{};
  std::vector<std::string> packages{};  // "name version"
  std::int64_t size_bytes = 0;
  std::string log{};  // name of the chunk; empty: there was none yet
  std::int64_t log_left_out = 0;
  // CPU time that the job's price pays for after it, since the attempt that took it is paid first.
  std::optional<std::int64_t> cpu_ms_max{};
};

// From an object of the market's list. Throws nlohmann::json::exception for one that is none.
OfferedCheckpoint offered_checkpoint(const nlohmann::json& object);

// Why this machine cannot resume it, for the job's owner; empty: it may try. What the machine does not know
// of itself is left to the guest to find out. `bytes_max`: how large a checkpoint may be here.
std::string why_not_resumable(const OfferedCheckpoint& checkpoint, const MachineSoftware& machine,
                              std::int64_t bytes_max);

}  // namespace remotist::volunteer
