# Two loops that differ only in the name of their variable, of which the first is watched, one after the other in each
# round. Prints nanoseconds an iteration, least and median, of both.
rounds <- 9
steps <- 1e6
took <- matrix(0, rounds, 6)
x <- plain_x <- s <- plain_s <- 0
v <- numeric(1e6)
plain_v <- numeric(1e6)
watched_up <- function(n) for (q in 1:n) s <<- s + q * 0.5
plain_up <- function(n) for (q in 1:n) plain_s <<- plain_s + q * 0.5
watched_up(10); watched_up(10); watched_up(10); plain_up(10); plain_up(10); plain_up(10)
cpu <- function() sum(proc.time()[1:2])
for (round in 1:rounds) {
  t0 <- cpu(); for (q in 1:steps) x <- x + q * 0.5
  t1 <- cpu(); for (q in 1:steps) plain_x <- plain_x + q * 0.5
  t2 <- cpu(); for (q in 1:steps) v[q] <- q
  t3 <- cpu(); for (q in 1:steps) plain_v[q] <- q
  t4 <- cpu(); watched_up(steps)
  t5 <- cpu(); plain_up(steps)
  t6 <- cpu()
  took[round, ] <- diff(c(t0, t1, t2, t3, t4, t5, t6)) / steps * 1e9
}
row <- function(what, k) {
  w <- took[, k]; p <- took[, k + 1]
  cat(sprintf("  %-34s %7.0f %7.0f %7.0f %7.0f %9.0f %8.2f\n", what, min(p), median(p), min(w), median(w), median(w - p), median(w) / median(p)))
}
row("x <- x + q * 0.5", 1)
row("v[q] <- q, a million numbers", 3)
row("s <<- s + q * 0.5 in a function", 5)
