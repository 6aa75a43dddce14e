# Forecasts a seasonal series: exponential smoothing by hand, moving averages, an AR model, a rolling evaluation.
set.seed(1949)
n <- 180
series <- ts(100 + 0.5 * (1:n) + 12 * sin(2 * pi * (1:n) / 12) + as.numeric(arima.sim(list(ar = 0.6), n, sd = 3)),
             start = c(1990, 1), frequency = 12)

holt_winters <- function(y, alpha, beta, gamma, period = 12) {
  level <- mean(y[1:period])
  trend <- (mean(y[period + 1:period]) - level) / period
  season <- y[1:period] - level
  error <- 0
  for (t in (period + 1):length(y)) {
    s <- (t - 1) %% period + 1
    guess <- level + trend + season[s]
    error <- error + (y[t] - guess)^2
    old <- level
    level <- alpha * (y[t] - season[s]) + (1 - alpha) * (level + trend)
    trend <- beta * (level - old) + (1 - beta) * trend
    season[s] <- gamma * (y[t] - level) + (1 - gamma) * season[s]
  }
  list(error = error, level = level, trend = trend, season = season)
}

grid <- expand.grid(alpha = seq(0.1, 0.9, 0.05), beta = seq(0.02, 0.3, 0.02), gamma = seq(0.1, 0.9, 0.2))
values <- as.numeric(series)
grid$error <- NA
for (row in seq_len(nrow(grid))) {
  grid$error[row] <- with(grid[row, ], holt_winters(values, alpha, beta, gamma)$error)
}
best <- grid[which.min(grid$error), ]
model <- do.call(holt_winters, c(list(values), best[c("alpha", "beta", "gamma")]))
forecast <- model$level + (1:12) * model$trend + model$season[(n + 0:11) %% 12 + 1]

smooth <- stats::filter(series, c(0.5, rep(1, 11), 0.5) / 12)
decomposed <- decompose(series)
season_strength <- 1 - var(decomposed$random, na.rm = TRUE) / var(decomposed$random + decomposed$seasonal, na.rm = TRUE)

rolling <- sapply(seq(60, n - 1, by = 2), function(end) {
  past <- values[1:end]
  fit <- ar(diff(past, 12), order.max = 3)
  step <- predict(fit, n.ahead = 1)$pred[1]
  c(naive = past[end - 11], ar = past[end - 11] + step, truth = values[end + 1])
})
scores <- sqrt(rowMeans((rolling[1:2, ] - rolling[c("truth", "truth"), ])^2))
correlations <- vapply(0:24, function(lag) cor(values[(lag + 1):n], values[1:(n - lag)]), 0)
turning <- sum(diff(sign(diff(values))) != 0)
yearly <- aggregate(series, FUN = mean)
window_2000 <- window(series, c(2000, 1), c(2000, 12))
