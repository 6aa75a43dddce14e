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
#include <map>
#include <string>
#include <vector>

#include "volunteer/runner/r.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// In the zygote: the function that compiler.R evaluates to.
void prepare_watch(SEXP instrument_compiler);

struct WatchOptions {
  std::vector<std::string> names;
  int frames;
  int out;
  std::int64_t heap_mb;  // of the job
  // The script resumes from a checkpoint: nothing is recorded before watch_resumed(), and then nothing that
  // equals the newest record before the checkpoint.
  bool resumes = false;
  std::map<std::size_t, ResumeFrom::Watched> last{};  // that record, by index
};
// Does nothing without names. What cannot be watched is reported as a record of the kind problem; the job
// runs on.
void begin_watch(const WatchOptions& options);

// The state of the checkpoint has been restored.
void watch_resumed();
// A checkpoint is taken now: WatchedMarks with this number follow once the records before it have been sent.
void mark_watched(std::uint64_t number);
// A top-level expression has been evaluated.
void watch_between_expressions();
// Sends the last values; returns when the host has them. Later calls do nothing.
void end_watch();

}  // namespace remotist::volunteer
