# Work done inside callbacks: optim, integrate, uniroot, nlm, outer with Vectorize, sort with an own order, sapply over all.
set.seed(1965)
calls <- c(optim = 0, integrate = 0, uniroot = 0)
counted <- function(name, f) function(...) {
  calls[name] <<- calls[name] + 1
  f(...)
}

rosenbrock <- function(p) {
  total <- 0
  for (i in seq_len(length(p) - 1)) total <- total + 100 * (p[i + 1] - p[i]^2)^2 + (1 - p[i])^2
  total
}
optima <- list()
for (method in c("Nelder-Mead", "BFGS", "CG")) {
  found <- optim(c(-1.2, 1, 0.5), counted("optim", rosenbrock), method = method, control = list(maxit = 600))
  optima[[method]] <- list(par = found$par, value = found$value, counts = found$counts)
}
annealed <- optim(c(2, 2), counted("optim", function(p) sum(p^2) + 3 * sum(1 - cos(2 * pi * p))), method = "SANN",
                  control = list(maxit = 40000))$value

normal_tail <- sapply(seq(0, 3, by = 0.25), function(z) {
  integrate(counted("integrate", dnorm), z, Inf)$value
})
double_integral <- integrate(function(x) {
  vapply(x, function(at) integrate(function(y) exp(-at * y) * sin(at + y), 0, 2)$value, 0)
}, 0, 3)$value

kepler <- function(mean_anomaly, eccentricity) {
  uniroot(counted("uniroot", function(e) e - eccentricity * sin(e) - mean_anomaly), c(-1, 8), tol = 1e-12)$root
}
anomalies <- outer(seq(0, 6, by = 0.5), c(0.1, 0.5, 0.9), Vectorize(kepler))

growth <- data.frame(t = 0:20)
growth$y <- 10 / (1 + exp(-(growth$t - 8) / 2)) + rnorm(21, sd = 0.1)
curve_fit <- nls(y ~ top / (1 + exp(-(t - mid) / width)), growth, start = list(top = 8, mid = 7, width = 1.5))
curve_coefficients <- coef(curve_fit)
minimum <- nlm(function(p) sum((growth$y - p[1] / (1 + exp(-(growth$t - p[2]) / p[3])))^2), c(8, 7, 1.5))$estimate
golden <- optimize(function(x) (x - 1 / 3)^2 + abs(x), c(-1, 2))$minimum

bisect <- function(f, low, high, tolerance = 1e-12) {
  while (high - low > tolerance) {
    middle <- (low + high) / 2
    if (f(low) * f(middle) <= 0) high <- middle else low <- middle
  }
  (low + high) / 2
}
roots <- vapply(1:3000, function(k) bisect(function(x) x^3 - k, 0, 6), 0)
rm(curve_fit, found)
