// Runs resumable scripts through the checkpoint engine, expression by expression (docs/checkpoints.md).
//
// R's thread; a side thread passes the host's requests and reports written checkpoints.
//
// Invariants: at most one job runs in a process, and load_checkpoint_engine() has returned before. Either the
// engine runs the whole script or nothing of it. Checkpointed is sent only when the file is complete under
// its name; CheckpointBegun, the output's marker and WatchedMarks only for what was printed and recorded
// before. A script that cannot be saved somewhere runs on: the engine then
// tries at the next safe point.
#pragma once

#include "volunteer/runner/r.h"
#include "volunteer/runner/r_session.h"

namespace remotist::volunteer {

// In the zygote: loads the engine. Throws std::runtime_error when that fails.
void load_checkpoint_engine();

// Runs the job's script, or the rest of it from a checkpoint. False, before anything has run and after
// NotResumable, when the script must be run without the engine because R cannot parse all of it in advance.
// Exits after ResumeFailed when the checkpoint cannot be restored.
bool run_resumable(const Job& job);

// Removes the engine's code from the functions in a value, in place, and returns it.
SEXP remove_engine_code(SEXP value);

}  // namespace remotist::volunteer
