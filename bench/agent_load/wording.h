// Messages as text, quickly: the same as protocol::text_of(), but for the two messages of every job, accept
// and outcome, without a JSON document in between. The market is what is measured, and this program shares
// its cores.
#pragma once

#include <string>

#include "core/protocol.h"

namespace remotist::bench {

std::string worded(const protocol::Frame<protocol::FromAgent>& frame);

}  // namespace remotist::bench
