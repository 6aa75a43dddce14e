# What every job of the benchmark carries: about as long as a small job is.
mean_of_draws <- function(draws) mean(rnorm(draws))

means <- vapply(seq_len(1000), function(i) {
  if (i %% 100 == 0) message("draw ", i)
  mean_of_draws(1e5)
}, numeric(1))

result <- quantile(means, c(0.05, 0.5, 0.95))
