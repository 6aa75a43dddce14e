# Follows a van der Pol oscillator and a predator-prey system with an embedded Runge-Kutta pair that chooses its steps.
coefficients <- list(
  a = list(c(), 1 / 4, c(3, 9) / 32, c(1932, -7200, 7296) / 2197, c(439 / 216, -8, 3680 / 513, -845 / 4104),
           c(-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40)),
  c = c(0, 1 / 4, 3 / 8, 12 / 13, 1, 1 / 2),
  high = c(16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55),
  low = c(25 / 216, 0, 1408 / 2565, 2197 / 4104, -1 / 5, 0)
)

fehlberg <- function(f, y, t_end, tolerance, h = 0.01) {
  t <- 0
  accepted <- 0
  rejected <- 0
  path <- list(c(t, y))
  while (t < t_end) {
    if (t + h > t_end) h <- t_end - t
    k <- matrix(0, 6, length(y))
    for (stage in 1:6) {
      at <- y
      for (j in seq_len(stage - 1)) at <- at + h * coefficients$a[[stage]][j] * k[j, ]
      k[stage, ] <- f(t + coefficients$c[stage] * h, at)
    }
    error <- max(abs(h * colSums((coefficients$high - coefficients$low) * k))) + 1e-16
    if (error <= tolerance) {
      t <- t + h
      y <- y + h * colSums(coefficients$high * k)
      accepted <- accepted + 1
      path[[accepted + 1]] <- c(t, y)
    } else {
      rejected <- rejected + 1
    }
    h <- h * min(4, max(0.1, 0.9 * (tolerance / error)^0.2))
  }
  list(path = do.call(rbind, path), accepted = accepted, rejected = rejected)
}

van_der_pol <- function(mu) function(t, y) c(y[2], mu * (1 - y[1]^2) * y[2] - y[1])
lotka <- function(t, y) c(y[1] * (1.1 - 0.4 * y[2]), y[2] * (0.1 * y[1] - 0.4))

oscillators <- lapply(c(soft = 0.5, medium = 3, stiff = 10), function(mu) fehlberg(van_der_pol(mu), c(2, 0), 40, 1e-8))
hunting <- fehlberg(lotka, c(10, 5), 100, 1e-9)
effort <- sapply(oscillators, function(run) c(accepted = run$accepted, rejected = run$rejected))
invariant <- with(as.data.frame(hunting$path), 0.1 * V2 - 0.4 * log(V2) + 0.4 * V3 - 1.1 * log(V3))
invariant_drift <- diff(range(invariant))
