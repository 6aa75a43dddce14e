# Tracks a moving object through noise with a Kalman filter and smoother, and estimates the noise by a grid search.
set.seed(1960)
steps <- 400
dt <- 0.5
move <- rbind(c(1, 0, dt, 0), c(0, 1, 0, dt), c(0, 0, 1, 0), c(0, 0, 0, 1))
see <- rbind(c(1, 0, 0, 0), c(0, 1, 0, 0))
truth <- matrix(0, steps, 4)
truth[1, ] <- c(0, 0, 1, 0.5)
for (t in 2:steps) truth[t, ] <- move %*% truth[t - 1, ] + c(0, 0, rnorm(2, sd = 0.1))
seen <- truth[, 1:2] + matrix(rnorm(2 * steps, sd = 1.5), steps)
seen[sample(steps, 15), ] <- NA

kalman <- function(seen, process, noise) {
  q <- diag(c(1e-6, 1e-6, process, process))
  r <- diag(noise, 2)
  x <- c(0, 0, 0, 0)
  p <- diag(10, 4)
  log_likelihood <- 0
  filtered <- vector("list", nrow(seen))
  for (t in seq_len(nrow(seen))) {
    x <- drop(move %*% x)
    p <- move %*% p %*% t(move) + q
    predicted <- list(x = x, p = p)
    if (!anyNA(seen[t, ])) {
      surprise <- seen[t, ] - drop(see %*% x)
      s <- see %*% p %*% t(see) + r
      gain <- p %*% t(see) %*% solve(s)
      x <- x + drop(gain %*% surprise)
      p <- (diag(4) - gain %*% see) %*% p
      log_likelihood <- log_likelihood - 0.5 * (log(det(s)) + sum(surprise * solve(s, surprise)))
    }
    filtered[[t]] <- list(x = x, p = p, predicted = predicted)
  }
  list(states = filtered, log_likelihood = log_likelihood)
}

smooth_back <- function(states) {
  Reduce(function(later, now) {
    gain <- now$p %*% t(move) %*% solve(later$predicted$p)
    now$x <- now$x + drop(gain %*% (later$x - now$predicted$x))
    now$p <- now$p + gain %*% (later$p - later$predicted$p) %*% t(gain)
    now$predicted <- list(x = now$predicted$x, p = now$predicted$p)
    now
  }, rev(states), accumulate = TRUE)
}

surface <- sapply(c(0.001, 0.01, 0.05, 0.2), function(process) {
  sapply(c(0.5, 1, 2.25, 4), function(noise) kalman(seen, process, noise)$log_likelihood)
})
best <- which(surface == max(surface), arr.ind = TRUE)
run <- kalman(seen, 0.01, 2.25)
positions <- t(sapply(run$states, function(s) s$x[1:2]))
smoothed <- t(sapply(rev(smooth_back(run$states)), function(s) s$x[1:2]))
error_of <- function(guess) sqrt(mean((guess - truth[, 1:2])^2))
errors <- c(filter = error_of(positions), smoother = error_of(smoothed),
            raw = sqrt(mean((seen - truth[, 1:2])^2, na.rm = TRUE)))
