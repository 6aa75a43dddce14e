// Watched variables of a job: from begin_watch() to end_watch() the host receives a record of each change of
// the variables that the client named (docs/watching.md).
//
// R's thread. One job a process: begin_watch() is called at most once, and without it the others do nothing.
// What begin_watch() makes is never freed, because R's function table and a thread refer to it until the
// process ends.
//
// Invariants: the records of a variable have the numbers 1, 2, 3 …; where nothing can be watched, each
// variable has one record, of the kind problem. Nothing is sent after end_watch(), and nothing by a child
// process that the script forks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "volunteer/runner/r.h"

namespace remotist::volunteer {

// In the zygote: the function that compiler.R evaluates to.
void prepare_watch(SEXP instrument_compiler);

struct WatchOptions {
  std::vector<std::string> names;
  int frames;
  int out;
  std::int64_t heap_mb;  // of the job
};
// Does nothing without names. What cannot be watched is reported as a record of the kind problem; the job
// runs on.
void begin_watch(const WatchOptions& options);

// A top-level expression has been evaluated.
void watch_between_expressions();
// Sends the last values; returns when the host has them. Later calls do nothing.
void end_watch();

}  // namespace remotist::volunteer
