# Each of these keeps something in another way.

# In a variable.
counts <- new.env()
counts$now <- 0L
count <- function() {
  counts$now <- counts$now + 1L
  counts$now
}

# Around a function, and around what is around it.
draw <- local({
  drawn <- 0
  local(function() drawn <<- drawn + 1)
})

# In a list of functions, as knitr does.
settings <- local({
  all <- list()
  list(set = function(name, value) all[[name]] <<- value, get = function(name) all[[name]])
})

# Within another; its members share it.
club <- new.env()
club$hall <- new.env()
club$members <- list()
join <- function(name) club$members[[name]] <- list(name = name, hall = club$hall)
hang_up <- function(name, picture) assign(name, picture, envir = club$hall)
sees <- function(member, name) exists(name, club$members[[member]]$hall, inherits = FALSE)

# What another variable refers to as well, until somebody changes that.
black <- new.env()
black$name <- "black"
desk <- new.env()
desk$colour <- black
paint <- function(colour) desk$colour <- colour
colours <- function() c(desk$colour$name, black$name)

# In an object that is sealed, and that somebody may put another one in the place of; and in the order in which it came.
Box <- R6::R6Class("Box", public = list(size = 1))
Crate <- R6::R6Class("Crate", public = list(size = 2, lid = "oak"))
shelf <- new.env()
shelf$box <- Box$new()

# Behind an active binding, and in objects that are made when the package is loaded. The pointer is made anew each time, and no
# checkpoint has it.
lamp <- new.env()
Till <- R6::R6Class("Till", public = list(
  put = function(coins) {
    private$coins <- private$coins + coins
    invisible(self)
  },
  sum = function() private$coins
), private = list(coins = 0))
till <- NULL
tools <- new.env()
.onLoad <- function(library, package) {
  light <- 0
  makeActiveBinding("light", function(to) if (missing(to)) light else light <<- to, lamp)
  assign("till", Till$new(), topenv())
  assign("mode", getOption("keeper.mode", "quiet"), topenv())
  asked <- 0
  makeActiveBinding("times_asked", function() asked <<- asked + 1, topenv())
  tools$pointer <- getLoadedDLLs()[["stats"]][["handle"]]
  tools$made_in <- Sys.getpid()
}
works <- function() identical(tools$made_in, Sys.getpid()) && !identical(format(tools$pointer), "<pointer: (nil)>")

# In a variable that is no environment when the package is loaded.
later <- NULL
begin <- function() {
  space <- topenv()
  unlockBinding("later", space)
  assign("later", new.env(), space)
  lockBinding("later", space)
}
note <- function(text) assign("text", c(later$text, text), envir = later)
notes <- function() later$text

# A pointer that cannot be had again.
grab <- function() tools$grabbed <- getLoadedDLLs()[["stats"]][["handle"]]
let_go <- function() rm("grabbed", envir = tools)
holds <- function() !is.null(tools$grabbed)
