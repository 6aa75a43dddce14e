// What is written about a checkpoint beside its file: the head, for the machine that resumes, and the body of
// the request that records it at the market.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "volunteer/agent/checkpoint_actions.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// The text of the head.
std::string head_text(const CheckpointRecord& record);

struct CheckpointHead {
  std::string manifest;                                // of the file
  std::map<std::size_t, ResumeFrom::Watched> watched;  // by index into the job's watched variables
};
// Leaves out variables that the job does not have. Throws std::runtime_error when it is no head: it comes
// from another machine.
CheckpointHead read_head(std::string_view text, const std::vector<std::string>& watched_variables);

// `head` and `log` are names of chunks; `log` is empty when there is none yet. Throws std::runtime_error when
// the manifest is none.
nlohmann::json record_body(const CheckpointRecord& record, const std::string& head, const std::string& log,
                           std::int64_t age_ms);

}  // namespace remotist::volunteer
