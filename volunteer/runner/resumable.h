// Scripts that can be gone on with in another process: they run through the checkpoint engine, expression by
// expression (docs/checkpoints.md).
//
// R's thread.
#pragma once

#include "volunteer/runner/engine.h"
#include "volunteer/runner/r.h"

namespace remotist::volunteer {

// In the zygote: puts the engine together. Throws std::runtime_error, in words, when that fails.
void prepare_engine();

// Runs the job's script, or what a checkpoint left of it. False when it has to be run as it is, because R
// cannot read all of it beforehand; then nothing has happened yet.
bool run_resumable(const Job& job);

// Takes what the engine put into functions out of a value, and returns it.
SEXP without_engine(SEXP value);

}  // namespace remotist::volunteer
