// A result that is too large for its outcome: sent as chunks, then named, before the outcome.
#pragma once

#include <optional>
#include <string>

#include "core/protocol.h"
#include "volunteer/connection/rest.h"

namespace remotist::bench {

using volunteer::Rest;

// Nothing when the market has stored the attempt's result of so many bytes; else the code of what went wrong.
// Blocks.
std::optional<std::string> upload_result(Rest& rest, const std::string& machine_token,
                                         const protocol::AttemptKey& attempt, std::size_t bytes);

}  // namespace remotist::bench
