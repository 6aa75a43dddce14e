# Chooses the degree of a polynomial and the size of a neighbourhood by repeated k-fold cross-validation.
set.seed(512)
n <- 120
points <- data.frame(x = sort(runif(n, -2, 2)))
points$y <- sin(2 * points$x) + 0.5 * points$x + rnorm(n, sd = 0.3)

make_folds <- function(n, k) split(sample(n), rep_len(1:k, n))

polynomial_error <- function(train, test, degree) {
  model <- lm(y ~ poly(x, degree), data = train)
  mean((test$y - predict(model, newdata = test))^2)
}

neighbours_error <- function(train, test, k) {
  guess <- vapply(test$x, function(at) {
    near <- order(abs(train$x - at))[1:k]
    mean(train$y[near])
  }, numeric(1))
  mean((test$y - guess)^2)
}

degrees <- 1:6
sizes <- c(1, 3, 5, 9, 15)
polynomial <- list()
neighbours <- list()
for (repetition in 1:3) {
  folds <- make_folds(n, 5)
  for (fold in names(folds)) {
    train <- points[-folds[[fold]], ]
    test <- points[folds[[fold]], ]
    label <- paste(repetition, fold, sep = "/")
    polynomial[[label]] <- sapply(degrees, function(d) polynomial_error(train, test, d))
    neighbours[[label]] <- sapply(sizes, function(k) neighbours_error(train, test, k))
  }
}
polynomial_scores <- colMeans(do.call(rbind, polynomial))
neighbour_scores <- colMeans(do.call(rbind, neighbours))
best_degree <- degrees[which.min(polynomial_scores)]
best_size <- sizes[which.min(neighbour_scores)]
one_error_rule <- {
  m <- do.call(rbind, polynomial)
  error <- apply(m, 2, sd) / sqrt(nrow(m))
  min(degrees[polynomial_scores <= min(polynomial_scores) + error[which.min(polynomial_scores)]])
}
rm(train, test)
