# Samples the posterior of a logistic regression with a random-walk Metropolis sampler that tunes its own step.
set.seed(7)
n <- 200
dose <- rnorm(n)
age <- runif(n, 20, 70)
design <- cbind(intercept = 1, dose = dose, age = (age - 45) / 10)
truth <- c(-0.5, 1.2, 0.3)
response <- rbinom(n, 1, plogis(design %*% truth))

log_posterior <- function(beta) {
  eta <- drop(design %*% beta)
  sum(response * eta - log1p(exp(eta))) + sum(dnorm(beta, 0, 5, log = TRUE))
}

steps <- 40000
chain <- matrix(NA_real_, steps, ncol(design), dimnames = list(NULL, colnames(design)))
current <- c(0, 0, 0)
current_value <- log_posterior(current)
scale <- 0.5
accepted <- 0L
window <- 0L
scales <- c()

for (step in 1:steps) {
  proposal <- current + rnorm(3, 0, scale)
  value <- log_posterior(proposal)
  if (log(runif(1)) < value - current_value) {
    current <- proposal
    current_value <- value
    accepted <- accepted + 1L
    window <- window + 1L
  }
  chain[step, ] <- current
  if (step <= 4000 && step %% 200 == 0) {
    rate <- window / 200
    scale <- scale * if (rate < 0.2) 0.8 else if (rate > 0.4) 1.25 else 1
    scales[length(scales) + 1] <- scale
    window <- 0L
  }
}

kept <- chain[-(1:4000), ]
posterior_mean <- colMeans(kept)
posterior_sd <- apply(kept, 2, sd)
interval <- apply(kept, 2, quantile, c(0.025, 0.5, 0.975))
acceptance <- accepted / steps
lag_one <- apply(kept, 2, function(column) cor(column[-1], column[-length(column)]))
