// Runs resumable scripts through the checkpoint engine, expression by expression (docs/checkpoints.md).
//
// R's thread.
#pragma once

#include "volunteer/runner/r.h"
#include "volunteer/runner/r_session.h"

namespace remotist::volunteer {

// In the zygote: loads the engine. Throws std::runtime_error when that fails.
void load_checkpoint_engine();

// Runs the job's script, or the rest of it from a checkpoint. False, before anything has run, when the script
// must be run without the engine because R cannot parse all of it in advance.
bool run_resumable(const Job& job);

// Removes the engine's code from the functions in a value, in place, and returns it.
SEXP remove_engine_code(SEXP value);

}  // namespace remotist::volunteer
