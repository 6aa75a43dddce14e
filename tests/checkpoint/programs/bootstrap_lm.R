# Bootstraps the coefficients of a linear model, by cases and by residuals, and compares the intervals.
set.seed(3)
cars <- mtcars
cars$cyl <- factor(cars$cyl)
fit <- lm(mpg ~ wt + hp + cyl, data = cars)
observed <- coef(fit)
rounds <- 150

by_cases <- t(sapply(seq_len(rounds), function(round) {
  rows <- sample(nrow(cars), replace = TRUE)
  while (length(unique(cars$cyl[rows])) < 3) rows <- sample(nrow(cars), replace = TRUE)
  coef(lm(mpg ~ wt + hp + cyl, data = cars[rows, ]))
}))

fitted_values <- fitted(fit)
errors <- residuals(fit) / sqrt(1 - hatvalues(fit))
by_residuals <- matrix(0, rounds, length(observed), dimnames = list(NULL, names(observed)))
for (round in seq_len(rounds)) {
  cars$again <- fitted_values + sample(errors - mean(errors), replace = TRUE)
  by_residuals[round, ] <- coef(lm(again ~ wt + hp + cyl, data = cars))
}
cars$again <- NULL

percentile <- function(draws, level = 0.95) {
  tail <- (1 - level) / 2
  t(apply(draws, 2, quantile, probs = c(tail, 1 - tail), names = FALSE))
}
intervals <- cbind(percentile(by_cases), percentile(by_residuals), confint(fit))
colnames(intervals) <- paste(rep(c("cases", "residuals", "normal"), each = 2), c("low", "high"), sep = ".")
bias <- colMeans(by_cases) - observed
widths <- intervals[, c(2, 4, 6)] - intervals[, c(1, 3, 5)]
rm(fit)
