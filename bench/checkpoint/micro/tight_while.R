# A `while` with one addition and one test. 6000000 iterations.
f <- function(n) {
  i <- 0
  while (i < n) i <- i + 1
  i
}
x <- f(6e6)
