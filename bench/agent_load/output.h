// The result that agent_load brings back for an attempt: bytes that anybody can make again from the attempt's
// name, so that a checker finds out which attempt a stored result is from and whether it is whole.
//
//   head    "<job id> <attempt>\n"
//   stream  SplitMix64, begun with the first 8 bytes of SHA-256(head) as a little-endian number; each number
//           it gives is 8 bytes, little-endian
//   result  the first N bytes of head and stream
//
// An outcome that is false (--lie with a wrong token or another attempt's number) never carries these bytes,
// so that one that was believed shows. One that is said twice carries them twice: the market may have refused
// the first.
#pragma once

#include <cstddef>
#include <string>

#include "core/protocol.h"

namespace remotist::bench {

inline constexpr auto kResultPath = "result.rds";

std::string result_of(const protocol::AttemptName& attempt, std::size_t bytes);

}  // namespace remotist::bench
