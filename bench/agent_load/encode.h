// A fast protocol::text_of(): writes accept and outcome, the two messages of every job, without building a
// JSON document. This program shares the cores with the market that it measures.
#pragma once

#include <string>

#include "core/protocol.h"

namespace remotist::bench {

std::string encode(const protocol::Frame<protocol::FromAgent>& frame);

}  // namespace remotist::bench
