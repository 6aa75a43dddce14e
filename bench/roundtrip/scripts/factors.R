# Prime factors by trial division.
factors <- function(n) {
  found <- numeric()
  d <- 2
  while (d * d <= n) {
    while (n %% d == 0) {
      found <- c(found, d)
      n <- n %/% d
    }
    d <- d + 1
  }
  if (n > 1) c(found, n) else found
}
x <- lapply(c(2^42 - 11, 1e12 + 39, 999999000001, 600851475143), factors)
