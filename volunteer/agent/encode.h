// The text of a message to the market.
#pragma once

#include <string>

#include "core/protocol.h"
#include "core/result.h"

namespace remotist::volunteer {

// Refuses a message that the market's own reader would refuse, which would close the connection: it contains
// texts and names that a job made.
Result<std::string> encode(const protocol::Frame<protocol::FromAgent>& frame);

}  // namespace remotist::volunteer
