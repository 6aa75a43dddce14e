# The walks of analysis.R, done in C++ (calls.cc). Evaluated after it.

calls_to <- function(e, wanted = NULL, skipped = character()) .Call(native$calls_to, e, wanted, skipped)
head_names <- function(calls) .Call(native$head_names, calls)
