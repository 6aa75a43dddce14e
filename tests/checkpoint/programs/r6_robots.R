# Robots in a maze as R6 objects: inheritance, active bindings, private state, method chaining, a shared map.
# Needs the package R6.
library(R6)
set.seed(1920)
Maze <- R6Class("Maze", public = list(
  size = NULL, walls = NULL, visits = NULL,
  initialize = function(size) {
    self$size <- size
    self$walls <- matrix(runif(size * size) < 0.25, size)
    self$walls[1, 1] <- self$walls[size, size] <- FALSE
    self$visits <- matrix(0L, size, size)
  },
  open = function(at) all(at >= 1 & at <= self$size) && !self$walls[at[1], at[2]],
  visit = function(at) {
    self$visits[at[1], at[2]] <- self$visits[at[1], at[2]] + 1L
    invisible(self)
  }
))

Robot <- R6Class("Robot",
  public = list(
    name = NULL, maze = NULL,
    initialize = function(name, maze) {
      self$name <- name
      self$maze <- maze
    },
    choose = function(options) options[[sample.int(length(options), 1)]],
    step = function() {
      options <- Filter(self$maze$open, lapply(private$directions, function(d) private$at + d))
      if (length(options) > 0) private$at <- self$choose(options)
      private$taken <- private$taken + 1
      self$maze$visit(private$at)
      invisible(self)
    },
    run = function(steps_max) {
      while (private$taken < steps_max && !self$arrived) self$step()
      invisible(self)
    }
  ),
  active = list(
    position = function(value) {
      if (missing(value)) return(private$at)
      stopifnot(self$maze$open(value))
      private$at <- value
    },
    arrived = function() all(private$at == self$maze$size),
    steps = function() private$taken
  ),
  private = list(at = c(1, 1), taken = 0, directions = list(c(0, 1), c(1, 0), c(0, -1), c(-1, 0)))
)
Curious <- R6Class("Curious", inherit = Robot, public = list(
  choose = function(options) {
    seen <- vapply(options, function(o) self$maze$visits[o[1], o[2]], 0L)
    super$choose(options[seen == min(seen)])
  }
))
Eager <- R6Class("Eager", inherit = Curious, public = list(
  choose = function(options) {
    if (runif(1) < 0.4) return(super$choose(options))
    options[[which.max(vapply(options, sum, 0))]]
  }
))

outcomes <- NULL
maze <- Maze$new(14)
for (round in 1:4) {
  for (kind in list(Robot, Curious, Eager)) {
    robot <- kind$new(paste0(kind$classname, round), maze)
    robot$step()$step()$run(700)
    outcomes <- rbind(outcomes, data.frame(name = robot$name, steps = robot$steps, arrived = robot$arrived))
  }
}
busiest <- which(maze$visits == max(maze$visits), arr.ind = TRUE)
copy <- robot$clone()
copy$position <- c(1, 1)
apart <- !identical(copy$position, robot$position) && identical(copy$maze, robot$maze)
reached <- aggregate(arrived ~ sub("[0-9]+$", "", name), outcomes, sum)
