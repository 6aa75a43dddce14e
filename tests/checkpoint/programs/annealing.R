# Schedules jobs on machines by simulated annealing with reheating.
set.seed(31)
jobs <- 60
machines <- 5
duration <- round(rgamma(jobs, 4, 0.2)) + 1
assigned <- sample(machines, jobs, replace = TRUE)

cost_of <- function(assignment) {
  load <- numeric(machines)
  for (job in seq_along(assignment)) load[assignment[job]] <- load[assignment[job]] + duration[job]
  max(load) + 0.01 * sum((load - mean(load))^2)
}

neighbour_of <- function(assignment) {
  if (runif(1) < 0.5) {
    job <- sample.int(jobs, 1)
    assignment[job] <- sample.int(machines, 1)
  } else {
    pair <- sample.int(jobs, 2)
    assignment[pair] <- assignment[rev(pair)]
  }
  assignment
}

temperature <- 50
current <- cost_of(assigned)
best <- list(cost = current, assignment = assigned)
trace <- c()
reheats <- 0
tries <- 0
repeat {
  moved <- FALSE
  for (attempt in 1:50) {
    tries <- tries + 1
    candidate <- neighbour_of(assigned)
    cost <- cost_of(candidate)
    if (cost >= current && runif(1) >= exp((current - cost) / temperature)) next
    assigned <- candidate
    current <- cost
    moved <- TRUE
    if (current < best$cost) best <- list(cost = current, assignment = assigned)
  }
  trace <- c(trace, current)
  temperature <- temperature * 0.93
  if (moved && temperature > 1e-3) next
  reheats <- reheats + 1
  if (reheats > 1) break
  temperature <- 10
  assigned <- best$assignment
  current <- best$cost
}
loads <- tapply(duration, best$assignment, sum)
gap <- max(loads) - sum(duration) / machines
