# Cools an Ising magnet by single-spin Metropolis flips and watches its magnetisation, one temperature after the other.
set.seed(1925)
side <- 16
spins <- matrix(sample(c(-1L, 1L), side * side, replace = TRUE), side)
after <- c(2:side, 1L)
before <- c(side, 1:(side - 1L))

energy <- function(m) -sum(m * (m[after, ] + m[, after]))

sweep_once <- function(m, chances) {
  for (k in seq_len(side * side)) {
    i <- sample.int(side, 1)
    j <- sample.int(side, 1)
    around <- m[after[i], j] + m[before[i], j] + m[i, after[j]] + m[i, before[j]]
    cost <- 2L * m[i, j] * around
    if (cost <= 0L || runif(1) < chances[[as.character(cost)]]) m[i, j] <- -m[i, j]
  }
  m
}

results <- data.frame()
for (temperature in c(4, 3.2, 2.6, 2.3, 2, 1.5)) {
  chances <- setNames(as.list(exp(-c(4, 8) / temperature)), c("4", "8"))
  magnetisation <- numeric(0)
  energies <- numeric(0)
  for (step in 1:28) {
    spins <- sweep_once(spins, chances)
    if (step <= 6) next
    magnetisation <- c(magnetisation, abs(mean(spins)))
    energies <- c(energies, energy(spins) / side^2)
  }
  results <- rbind(results, data.frame(temperature, magnetisation = mean(magnetisation), energy = mean(energies),
                                       heat = var(energies) * side^2 / temperature^2))
}

# The clusters that are left, by flood fill.
label <- matrix(0L, side, side)
clusters <- integer(0)
for (start in seq_along(spins)) {
  if (label[start] != 0L) next
  clusters[length(clusters) + 1L] <- 0L
  stack <- start
  while (length(stack) > 0) {
    cell <- stack[length(stack)]
    stack <- stack[-length(stack)]
    if (label[cell] != 0L) next
    label[cell] <- length(clusters)
    clusters[length(clusters)] <- clusters[length(clusters)] + 1L
    i <- (cell - 1L) %% side + 1L
    j <- (cell - 1L) %/% side + 1L
    around <- c(after[i], before[i], i, i) + (c(j, j, after[j], before[j]) - 1L) * side
    for (other in around) {
      if (label[other] == 0L && spins[other] == spins[cell]) stack <- c(stack, other)
    }
  }
}
largest <- max(clusters)
picture <- apply(spins, 1, function(row) paste(ifelse(row > 0, "+", "-"), collapse = ""))
