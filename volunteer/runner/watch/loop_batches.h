// Loops that assign to the same watched variables in each iteration, and otherwise call only fast builtins,
// run in batches of about a millisecond; after each batch they add to the variables' change counts. While a
// variable is due to be sampled, a batch is one iteration, so that each change is seen; while it waits, the
// inner loop is R's own, at no extra cost.
//
// compiler.R finds such loops and compiles them as
//
//   if (begin_loop(loop, sequence)) while (next_batch(loop)) for (i in batch_elements(loop)) body
//   else for (i in all_elements(loop)) body
//
// R's thread. A loop's entry is made when it is compiled and lives as long as the process; it holds the
// sequence only between begin_loop() and the end of the loop. A loop that an error left keeps its batch open:
// ChangeSampler::end_all_batches() closes it.
//
// Invariants:
// - The elements of the batches of a loop are those of its sequence, each once and in order.
// - Every begin_batch() of the sampler is followed by end_batch() with the number of iterations that were run
// or,
//   after an error, by end_all_batches().
// - A loop's number stays valid: `loops` only grows.
#pragma once

#include "volunteer/runner/r.h"
#include "volunteer/runner/watch/change_sampler.h"

namespace remotist::volunteer {

// A named list of the functions that compiled code calls with .Call(), and of new_loop(globals, call), which
// yields the number of a loop that changes these globals in each iteration, or NULL when one of them must see
// each change.
SEXP batch_functions(ChangeSampler& sampler);

}  // namespace remotist::volunteer
