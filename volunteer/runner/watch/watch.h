// Watching in a job: begins before the script, ends after it, and tells the host of each change of the
// variables that the client named (docs/watching.md).
//
// R's thread. Without begin_watch() the others do nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "volunteer/runner/r.h"

namespace remotist::volunteer {

// In the zygote: what compiler.R yields.
void prepare_watch(SEXP arm_compiler);

struct WatchOrder {
  std::vector<std::string> names;
  int frames;
  int out;
  std::int64_t heap_mb;  // of the job
};
// Does nothing without names. What cannot be watched is told as a problem, and the job goes on.
void begin_watch(const WatchOrder& order);

// A top-level expression has been evaluated.
void watch_between_expressions();
// Sends the last values; returns when the host has them. At most once.
void end_watch();

}  // namespace remotist::volunteer
