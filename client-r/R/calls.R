# The walks over expressions that checkpoint-analysis.R needs. The checkpoint engine has the same in C++.

# All calls in `e` to one of `wanted`, or to anything, outermost first; those to `skipped` are left out with what is in
# them.
calls_to <- function(e, wanted = NULL, skipped = character()) {
  found <- list()
  each_call(e, function(part) {
    name <- head_name(part)
    if (name %in% skipped) return(FALSE)
    if (is.null(wanted) || name %in% wanted) found[[length(found) + 1L]] <<- part
    TRUE
  })
  found
}
head_names <- function(calls) vapply(calls, head_name, "")
