# An epidemic among agents who walk on a grid: environments as agents, changed by reference.
set.seed(2020)
side <- 25
new_agent <- function(id) {
  agent <- new.env()
  agent$id <- id
  agent$x <- sample(side, 1)
  agent$y <- sample(side, 1)
  agent$state <- "healthy"
  agent$since <- 0L
  agent$caught_from <- NULL
  agent
}

walk <- function(agent) {
  direction <- sample(4, 1)
  switch(direction,
    agent$x <- agent$x %% side + 1,
    agent$x <- (agent$x - 2) %% side + 1,
    agent$y <- agent$y %% side + 1,
    agent$y <- (agent$y - 2) %% side + 1
  )
  invisible(agent)
}

infect <- function(agent, by, day) {
  agent$state <- "ill"
  agent$since <- day
  agent$caught_from <- by
}

agents <- lapply(1:200, new_agent)
for (first in agents[1:3]) infect(first, NULL, 0L)
curve <- NULL
for (day in 1:110) {
  for (agent in agents) walk(agent)
  cell <- sapply(agents, function(a) a$x * 100 + a$y)
  ill <- Filter(function(a) a$state == "ill", agents)
  for (source in ill) {
    for (other in agents[cell == source$x * 100 + source$y]) {
      if (other$state == "healthy" && runif(1) < 0.6) infect(other, source, day)
    }
    if (day - source$since >= 9 && runif(1) < 0.3) source$state <- "immune"
  }
  curve <- rbind(curve, table(factor(sapply(agents, `[[`, "state"), c("healthy", "ill", "immune"))))
}
chain_of <- function(agent) if (is.null(agent$caught_from)) agent$id else c(agent$id, chain_of(agent$caught_from))
chains <- lapply(Filter(function(a) a$state != "healthy", agents), chain_of)
longest_chain <- chains[[which.max(lengths(chains))]]
spread <- table(unlist(lapply(agents, function(a) a$caught_from$id)))
peak_day <- which.max(curve[, "ill"])
