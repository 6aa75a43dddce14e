# Arithmetic on scalars in a function that a loop calls. 1500000 iterations.
step <- function(a, b) {
  d <- a * 0.5 + b
  if (d > 1) d - 1 else d
}
f <- function(n) {
  v <- 0
  for (i in 1:n) v <- step(v, 0.3)
  v
}
x <- f(1.5e6)
