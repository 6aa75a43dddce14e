# Estimates pi and the price of an Asian option by Monte Carlo, with a running estimate for every batch.
set.seed(20240)
batches <- 40
per_batch <- 4000

inside <- 0
drawn <- 0
estimates <- numeric(batches)
for (batch in seq_len(batches)) {
  hits <- 0
  for (i in seq_len(per_batch)) {
    x <- runif(1, -1, 1)
    y <- runif(1, -1, 1)
    if (x * x + y * y <= 1) hits <- hits + 1
  }
  inside <- inside + hits
  drawn <- drawn + per_batch
  estimates[batch] <- 4 * inside / drawn
}
pi_estimate <- estimates[batches]
pi_error <- abs(pi_estimate - pi)

# The payoff depends on the mean of the price over the year, so a path has to be walked.
asian_path <- function(start, strike, rate, volatility, steps) {
  dt <- 1 / steps
  price <- start
  total <- 0
  for (z in rnorm(steps)) {
    price <- price * exp((rate - volatility^2 / 2) * dt + volatility * sqrt(dt) * z)
    total <- total + price
  }
  exp(-rate) * max(total / steps - strike, 0)
}

payoffs <- replicate(2000, asian_path(100, 102, 0.03, 0.25, 50))
option_price <- mean(payoffs)
option_interval <- option_price + c(-1, 1) * qnorm(0.975) * sd(payoffs) / sqrt(length(payoffs))
worthless <- mean(payoffs == 0)
