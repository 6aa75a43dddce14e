# Prime factors by trial division, of one number after the other, with what was found in fifteen variables.
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
w1 <- w2 <- w3 <- w4 <- w5 <- w6 <- w7 <- w8 <- w9 <- w10 <- w11 <- w12 <- w13 <- w14 <- w15 <- 0
for (i in seq_len(steps * 12)) {
  w1 <- i
  w2 <- 1e10 + 2 * i + 1
  w3 <- factors(w2)
  w4 <- length(w3)
  w5 <- max(w3)
  w6 <- min(w3)
  w7 <- max(w7, w4)
  w8 <- w8 + w4
  w9 <- w8 / i
  w10 <- c(w10[-1], w4)
  w11 <- w3 == w2
  w12 <- sum(w11)
  w13 <- w13 + (w4 == 1)
  w14 <- w13 / i
  w15 <- list(i, w3)
}
