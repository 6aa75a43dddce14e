// A watched record as a guest sends it: the variable is an index, the time counts from the beginning of the
// run, and a value that is too large for a frame is in a file. The agent turns it into the record that it
// sends to the market.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/watched_record.h"

namespace remotist::volunteer {

struct GuestRecord {
  std::size_t variable = 0;  // index into GuestSpec::watched_variables
  std::int64_t at_us = 0;    // when it changed, since the run began
  std::string file{};        // of a value above limits::kWatchedInlineBytesMax; see watched_file_size()
  WatchedRecord record{};    // without variable, age_ms, size and chunks
};

}  // namespace remotist::volunteer
