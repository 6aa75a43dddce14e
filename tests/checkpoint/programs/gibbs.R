# Finds the change in the yearly number of mining accidents by Gibbs sampling of a Poisson change-point model.
set.seed(1851)
years <- 1851:1962
counts <- c(rpois(40, 3.1), rpois(length(years) - 40, 0.9))
n <- length(counts)
cumulated <- cumsum(counts)

draw_rate <- function(total, exposure, shape = 2, rate = 1) rgamma(1, shape + total, rate + exposure)

draw_change <- function(before, after) {
  k <- 1:(n - 1)
  log_weight <- cumulated[k] * (log(before) - log(after)) - k * (before - after)
  weight <- exp(log_weight - max(log_weight))
  sample(k, 1, prob = weight)
}

sweeps <- 14000
state <- list(before = 2, after = 2, change = 50L)
draws <- data.frame(before = numeric(sweeps), after = numeric(sweeps), change = integer(sweeps))
before <- numeric(sweeps)
after <- numeric(sweeps)
change <- integer(sweeps)
sweep_number <- 0
while (sweep_number < sweeps) {
  sweep_number <- sweep_number + 1
  state$before <- draw_rate(cumulated[state$change], state$change)
  state$after <- draw_rate(cumulated[n] - cumulated[state$change], n - state$change)
  state$change <- draw_change(state$before, state$after)
  before[sweep_number] <- state$before
  after[sweep_number] <- state$after
  change[sweep_number] <- state$change
}
draws$before <- before
draws$after <- after
draws$change <- change

draws <- draws[-seq_len(1000), ]
change_year <- years[as.integer(names(which.max(table(draws$change))))]
rates <- sapply(draws[c("before", "after")], function(v) c(mean = mean(v), sd = sd(v)))
drop_certain <- mean(draws$before > draws$after)
