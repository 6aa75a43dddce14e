# A `repeat` that is left by a test. 6000000 iterations.
f <- function(n) {
  i <- 0
  repeat {
    i <- i + 1
    if (i >= n) break
  }
  i
}
x <- f(6e6)
