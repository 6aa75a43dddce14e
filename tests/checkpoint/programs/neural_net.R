# Trains a small neural network by back propagation with momentum, to tell the points of two spirals apart.
set.seed(1986)
spiral <- function(n, turn) {
  t <- seq(0.3, 2.5, length.out = n)
  cbind(t * cos(3 * t + turn), t * sin(3 * t + turn)) + rnorm(2 * n, sd = 0.04)
}
input <- rbind(spiral(80, 0), spiral(80, pi))
target <- rep(0:1, each = 80)

sigmoid <- function(x) 1 / (1 + exp(-x))
layer <- function(from, to) list(w = matrix(rnorm(from * to, sd = 1 / sqrt(from)), from), b = numeric(to))

network <- list(layer(2, 14), layer(14, 10), layer(10, 1))
speed <- lapply(network, function(l) list(w = l$w * 0, b = l$b * 0))

forward <- function(network, x) {
  activations <- list(x)
  for (i in seq_along(network)) {
    z <- sweep(activations[[i]] %*% network[[i]]$w, 2, network[[i]]$b, `+`)
    activations[[i + 1]] <- if (i < length(network)) tanh(z) else sigmoid(z)
  }
  activations
}

backward <- function(network, activations, y) {
  gradients <- vector("list", length(network))
  delta <- activations[[length(activations)]] - y
  for (i in rev(seq_along(network))) {
    gradients[[i]] <- list(w = crossprod(activations[[i]], delta) / length(y), b = colMeans(delta))
    if (i > 1) delta <- (delta %*% t(network[[i]]$w)) * (1 - activations[[i]]^2)
  }
  gradients
}

losses <- c()
rate <- 0.3
for (epoch in 1:220) {
  order <- sample(length(target))
  loss <- 0
  for (batch in split(order, rep(1:8, each = 20))) {
    activations <- forward(network, input[batch, ])
    output <- activations[[4]]
    loss <- loss - mean(log(ifelse(target[batch] == 1, output, 1 - output) + 1e-12)) / 8
    gradients <- backward(network, activations, target[batch])
    for (i in seq_along(network)) {
      for (part in c("w", "b")) {
        speed[[i]][[part]] <- 0.85 * speed[[i]][[part]] - rate * gradients[[i]][[part]]
        network[[i]][[part]] <- network[[i]][[part]] + speed[[i]][[part]]
      }
    }
  }
  losses[epoch] <- loss
  if (epoch > 50 && loss > losses[epoch - 50]) rate <- rate * 0.98
}
guess <- drop(forward(network, input)[[4]])
accuracy <- mean((guess > 0.5) == target)
weights <- unlist(network)
