# Fits a mixture of three normal distributions by expectation maximisation from several starts and keeps the best.
set.seed(99)
sizes <- c(700, 500, 300)
values <- c(rnorm(sizes[1], 0, 1), rnorm(sizes[2], 4, 0.7), rnorm(sizes[3], 8, 1.5))

expectation <- function(x, model) {
  density <- mapply(function(w, m, s) w * dnorm(x, m, s), model$weight, model$mean, model$sd)
  total <- rowSums(density)
  list(share = density / total, log_likelihood = sum(log(total)))
}

maximisation <- function(x, share) {
  mass <- colSums(share)
  centre <- colSums(share * x) / mass
  spread <- sqrt(sapply(seq_along(mass), function(k) sum(share[, k] * (x - centre[k])^2) / mass[k]))
  list(weight = mass / length(x), mean = centre, sd = pmax(spread, 1e-3))
}

fit_mixture <- function(x, components, tolerance = 1e-7, rounds_max = 400) {
  model <- list(weight = rep(1 / components, components), mean = sample(x, components), sd = rep(sd(x), components))
  trace <- numeric(0)
  repeat {
    e <- expectation(x, model)
    trace <- c(trace, e$log_likelihood)
    model <- maximisation(x, e$share)
    rounds <- length(trace)
    if (rounds >= rounds_max) break
    if (rounds > 1 && trace[rounds] - trace[rounds - 1] < tolerance * abs(trace[rounds])) break
  }
  c(model, list(trace = trace, rounds = rounds, log_likelihood = trace[rounds]))
}

best <- NULL
history <- list()
for (start in 1:20) {
  fit <- fit_mixture(values, 3)
  history[[paste0("start", start)]] <- fit$trace
  if (is.null(best) || fit$log_likelihood > best$log_likelihood) best <- fit
}
ranking <- order(best$mean)
components <- data.frame(weight = best$weight, mean = best$mean, sd = best$sd)[ranking, ]
bic <- -2 * best$log_likelihood + 8 * log(length(values))
rounds_needed <- lengths(history)
