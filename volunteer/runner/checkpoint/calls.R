# The walks over expressions that analysis.R needs, in C++ (calls.cc). client-r/R/calls.R has the same in R.

# All calls in `e` to one of `wanted`, or to anything, outermost first; those to `skipped` are left out with everything in them.
calls_to <- function(e, wanted = NULL, skipped = character()) .Call(native$calls_to, e, wanted, skipped)
head_names <- function(calls) .Call(native$head_names, calls)
