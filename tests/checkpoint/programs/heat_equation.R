# Solves the heat equation on a rod (implicit, by the Thomas algorithm) and on a plate (explicit).
thomas <- function(lower, diagonal, upper, right) {
  n <- length(diagonal)
  for (i in 2:n) {
    w <- lower[i] / diagonal[i - 1]
    diagonal[i] <- diagonal[i] - w * upper[i - 1]
    right[i] <- right[i] - w * right[i - 1]
  }
  x <- numeric(n)
  x[n] <- right[n] / diagonal[n]
  for (i in (n - 1):1) x[i] <- (right[i] - upper[i] * x[i + 1]) / diagonal[i]
  x
}

cells <- 80
r <- 0.8
rod <- sin(pi * seq(0, 1, length.out = cells)) + 0.3 * sin(5 * pi * seq(0, 1, length.out = cells))
warmest <- numeric(0)
for (step in 1:7000) {
  inner <- rod[2:(cells - 1)]
  m <- length(inner)
  rod[2:(cells - 1)] <- thomas(rep(-r, m), rep(1 + 2 * r, m), rep(-r, m), inner)
  if (step %% 20 == 0) warmest <- c(warmest, max(rod))
}

side <- 40
plate <- matrix(20, side, side)
plate[1, ] <- 100
plate[side, 10:30] <- 0
steps <- 0
repeat {
  before <- plate
  i <- 2:(side - 1)
  plate[i, i] <- before[i, i] + 0.24 * (before[i - 1, i] + before[i + 1, i] + before[i, i - 1] + before[i, i + 1] -
                                          4 * before[i, i])
  steps <- steps + 1
  change <- max(abs(plate - before))
  if (change < 5e-3 || steps >= 2500) break
}
centre <- plate[side / 2, side / 2]
profile <- round(rowMeans(plate), 8)
