# Fits robust, negative-binomial and ordinal models and discriminants, again and again on samples of the data.
# Needs the package MASS.
library(MASS)
set.seed(65)
robust <- list()
for (k in c(1.345, 1.5, 2)) {
  fit <- rlm(stack.loss ~ ., data = stackloss, k = k)
  robust[[format(k)]] <- c(coef(fit), scale = fit$s)
}

absences <- lapply(1:6, function(round) {
  rows <- quine[sample(nrow(quine), replace = TRUE), ]
  fit <- tryCatch(glm.nb(Days ~ Sex + Age + Lrn, data = rows), error = function(e) NULL)
  if (is.null(fit)) return(NULL)
  list(theta = fit$theta, coefficients = coef(fit))
})
thetas <- unlist(lapply(absences, `[[`, "theta"))

confusion <- matrix(0, 3, 3)
for (fold in 1:10) {
  out <- seq(fold, nrow(iris), by = 10)
  model <- lda(Species ~ ., data = iris[-out, ])
  guess <- predict(model, iris[out, ])$class
  confusion <- confusion + table(iris$Species[out], guess)
}
accuracy <- sum(diag(confusion)) / sum(confusion)

houses <- polr(Sat ~ Infl + Type + Cont, weights = Freq, data = housing)
house_coefficients <- coef(houses)
thresholds <- houses$zeta
draws <- mvrnorm(200, c(0, 1), matrix(c(2, 0.5, 0.5, 1), 2))
density_peak <- with(kde2d(draws[, 1], draws[, 2], n = 30), c(x[row(z)[which.max(z)]], y[col(z)[which.max(z)]]))
transform <- boxcox(Volume ~ log(Height) + log(Girth), data = trees, plotit = FALSE)
best_power <- transform$x[which.max(transform$y)]
as_fractions <- as.character(fractions(c(0.25, 1 / 3, 0.7)))
rm(fit, model, houses)
