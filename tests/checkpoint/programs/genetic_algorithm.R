# Evolves a tour through thirty towns with a genetic algorithm: tournaments, order crossover, mutation, an elite.
set.seed(424242)
towns <- 30
place <- cbind(x = runif(towns, 0, 100), y = runif(towns, 0, 100))
distance <- as.matrix(dist(place))

tour_length <- function(tour) sum(distance[cbind(tour, c(tour[-1], tour[1]))])

tournament <- function(population, fitness, size = 4) {
  candidates <- sample(length(population), size)
  population[[candidates[which.min(fitness[candidates])]]]
}

# Keeps a slice of the mother and fills the rest in the order of the father.
order_crossover <- function(mother, father) {
  cut <- sort(sample(length(mother), 2))
  slice <- mother[cut[1]:cut[2]]
  rest <- father[!father %in% slice]
  append(rest, slice, after = cut[1] - 1)
}

mutate <- function(tour, rate) {
  if (runif(1) < rate) {
    at <- sort(sample(length(tour), 2))
    tour[at[1]:at[2]] <- rev(tour[at[1]:at[2]])
  }
  tour
}

population <- replicate(60, sample(towns), simplify = FALSE)
fitness <- sapply(population, tour_length)
best_so_far <- numeric(0)
stagnant <- 0
generation <- 0
while (generation < 90 && stagnant < 60) {
  generation <- generation + 1
  elite <- population[order(fitness)[1:4]]
  children <- lapply(1:56, function(i) {
    child <- order_crossover(tournament(population, fitness), tournament(population, fitness))
    mutate(child, 0.35)
  })
  population <- c(elite, children)
  fitness <- sapply(population, tour_length)
  best_so_far[generation] <- min(fitness)
  stagnant <- if (generation > 1 && best_so_far[generation] == best_so_far[generation - 1]) stagnant + 1 else 0
}
best_tour <- population[[which.min(fitness)]]
best_length <- min(fitness)
improvement <- 1 - best_length / best_so_far[1]
