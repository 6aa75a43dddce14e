# Fails, in a function that a function called.
source("prelude.R")

trying("stop()")
outer <- function(a) {
  of_outer <- "outer"
  inner(a + 1)
}
inner <- function(b) {
  of_inner <- "seen at the error"
  stop("broken on purpose: ", b)
}
outer(1)
