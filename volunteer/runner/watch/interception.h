// Where R itself tells of an assignment.
//
// Code that R evaluates as it was parsed calls the functions of R's own table (`<-`, `<<-`, `=`, and what
// assign(), rm() and their like lead to): their entries are replaced by ones that do the same and then tell
// the gate. Code that R compiles gets, behind each assignment to a watched name, a call of the builtin
// quote(NULL) with a mark on it; the entry of quote() knows the mark. So nothing that a script can see of
// itself is rewritten, and compiled code that leaves this process only quotes NULL elsewhere.
//
// R's thread. For good: there is no way back.
#pragma once

#include "volunteer/runner/r.h"
#include "volunteer/runner/watch/gate.h"

namespace remotist::volunteer {

// Whether R's table is what this was written for.
bool can_intercept();
// Requires can_intercept(). `arm_compiler` is what compiler.R yields. The gate lives as long as the process.
// False when the compiler does not take it.
bool intercept(Gate& gate, SEXP arm_compiler);

}  // namespace remotist::volunteer
