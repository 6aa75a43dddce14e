// Replaces R's assignment functions, so that each assignment to a watched variable calls
// ChangeSampler::changed().
//
// Code that R interprets calls the functions of R's own table (`<-`, `<<-`, `=`, and what assign(), rm() and
// the like lead to): their entries are replaced by functions that call the original and then the sampler.
// Code that R compiles gets, after each assignment to a watched name, a call quote(NULL) with an attribute,
// and the entry of quote() looks for that attribute. So nothing that a script can see of itself is rewritten,
// and compiled code that leaves this process only quotes NULL elsewhere.
//
// R's thread, once in a process, and irreversible: afterwards the table refers to the sampler until the
// process ends.
//
// Invariants:
// - The original function has returned before the sampler is called, and its value is returned unchanged. An
//   error in it passes through and counts nothing.
// - A mark exists once for each watched global and kind of assignment, and is never removed; its call object
//   is preserved, so that its address identifies it.
// - Between an assignment and its count no code of the script runs.
#pragma once

#include "volunteer/runner/r.h"
#include "volunteer/runner/watch/change_sampler.h"

namespace remotist::volunteer {

// Whether R's table has the layout that this was written for.
bool can_intercept();
// Requires can_intercept(), and a sampler that is never destroyed. `instrument_compiler` is what compiler.R
// evaluates to. False, with the table unchanged, when R's compiler cannot be instrumented.
bool intercept(ChangeSampler& sampler, SEXP instrument_compiler);

}  // namespace remotist::volunteer
