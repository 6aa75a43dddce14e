// Loops that assign to the same watched variables in each iteration, and do nothing that takes long: they run
// in strips of about a millisecond, and tell after each how often the variables were changed. While a
// variable is looked at, a strip is one iteration, so that each change is seen; while it waits for its turn,
// the loop is R's own and costs nothing.
//
// compiler.R finds such loops and compiles them as
//
//   if (begin(loop, sequence)) while (more(loop)) for (i in strip(loop)) body else for (i in whole(loop))
//   body
//
// R's thread.
#pragma once

#include "volunteer/runner/r.h"
#include "volunteer/runner/watch/gate.h"

namespace remotist::volunteer {

// The functions that compiled code calls, for .Call(), as a named list; and new_loop(roots, call), which
// yields the number of a loop that changes these in each iteration, or NULL when they cannot wait.
SEXP strip_functions(Gate& gate);

}  // namespace remotist::volunteer
