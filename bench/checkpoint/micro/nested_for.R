# Two loops over a matrix, element by element. 4000000 iterations.
f <- function(n) {
  m <- matrix(0, n, n)
  for (i in 1:n) {
    for (j in 1:n) m[i, j] <- i * j
  }
  m
}
x <- sum(f(2000))
