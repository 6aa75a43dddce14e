# Integrates the Lorenz system and a pendulum with the classical Runge-Kutta method and watches the energy.
rk4_step <- function(f, t, y, h, ...) {
  k1 <- f(t, y, ...)
  k2 <- f(t + h / 2, y + h / 2 * k1, ...)
  k3 <- f(t + h / 2, y + h / 2 * k2, ...)
  k4 <- f(t + h, y + h * k3, ...)
  y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
}

integrate_path <- function(f, y, from, to, h, ...) {
  times <- seq(from, to, by = h)
  path <- matrix(0, length(times), length(y))
  path[1, ] <- y
  for (i in seq_along(times)[-1]) {
    y <- rk4_step(f, times[i - 1], y, h, ...)
    path[i, ] <- y
  }
  cbind(time = times, path)
}

lorenz <- function(t, y, sigma = 10, rho = 28, beta = 8 / 3) {
  c(sigma * (y[2] - y[1]), y[1] * (rho - y[3]) - y[2], y[1] * y[2] - beta * y[3])
}
pendulum <- function(t, y, damping = 0) c(y[2], -9.81 * sin(y[1]) - damping * y[2])

butterfly <- integrate_path(lorenz, c(1, 1, 1), 0, 60, 0.005)
shifted <- integrate_path(lorenz, c(1, 1, 1 + 1e-8), 0, 60, 0.005)
divergence <- sqrt(rowSums((butterfly[, -1] - shifted[, -1])^2))
apart_after <- butterfly[which(divergence > 1)[1], "time"]

energies <- list()
for (damping in c(0, 0.1, 0.5)) {
  swing <- integrate_path(pendulum, c(1, 0), 0, 10, 0.005, damping = damping)
  energies[[format(damping)]] <- 0.5 * swing[, 3]^2 - 9.81 * cos(swing[, 2])
}
drift <- sapply(energies, function(e) max(abs(e - e[1])))
wings <- table(right = butterfly[, 2] > 0)
