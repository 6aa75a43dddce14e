# A `for` at the top of a function, one addition in it. 8000000 iterations.
f <- function(n) {
  s <- 0
  for (i in 1:n) s <- s + i
  s
}
x <- f(8e6)
