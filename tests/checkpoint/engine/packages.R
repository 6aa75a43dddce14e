# What packages keep to themselves: it goes with the script, and what they share with it stays shared. Most of it is in a package
# made for this (../keeper).
spend <- function(n) {
  total <- 0
  for (i in seq_len(n)) total <- total + sum(sqrt(seq_len(i %% 50)))
  total
}
work <- 0
options(keeper.mode = "loud")
setHook(packageEvent("splines", "onLoad"), function(...) hooked <<- hooked + 1)
hooked <- 0
attach(list(mine = 1), name = "mine")
mine_too <- as.environment("mine")
# All classes of R6 have one environment around them, which is the package's.
First <- R6::R6Class("First", public = list(n = 0, add = function() {
  self$n <- self$n + 1
  invisible(self)
}))
work <- work + spend(1000)
Second <- R6::R6Class("Second", inherit = First)
work <- work + spend(1000)
shared <- identical(parent.env(First), parent.env(Second))
sums <- c(First$new()$add()$n, Second$new()$add()$add()$n)

# The script has the package's function, or environment, and so has the package.
drawing <- keeper::draw
hall <- keeper::club$hall
lamp <- keeper::lamp
keeper::join("ada")
keeper::begin()
counted <- NULL
red <- new.env()
red$name <- "red"
keeper::paint(red)
shelf <- keeper::shelf
shelf$box <- keeper::Crate$new()
for (k in 1:20) {
  assign(paste0("item", k), k, envir = shelf)
  keeper::times_asked
  counted <- c(counted, keeper::count(), drawing(), keeper::draw())
  keeper::settings$set(paste0("key", k %% 3), k)
  keeper::hang_up(paste0("picture", k), k)
  keeper::till$put(k)
  lamp$light <- keeper::lamp$light + k
  keeper::note(letters[[k]])
  work <- work + spend(200)
}
kept <- list(settings = sapply(paste0("key", 0:2), keeper::settings$get), seen = keeper::sees("ada", "picture20"), hung = sort(ls(hall)),
             till = keeper::till$sum(), colours = keeper::colours(), box = names(shelf$box), order = names(keeper::shelf), mode = keeper::mode,
             asked = keeper::times_asked, light = keeper::lamp$light, notes = keeper::notes(), works = keeper::works())
rm("picture1", envir = hall)
class(hall) <- "hall"
lockBinding("picture2", hall)
work <- work + spend(1000)
hung <- list(class = class(keeper::club$hall), locked = bindingIsLocked("picture2", keeper::club$hall), same = identical(hall, keeper::club$hall), left = sort(ls(hall)))

loadNamespace("splines")
assign("mine", 2, envir = mine_too)
found <- c(mine, hooked, match("mine", search()))

# What cannot be had again is waited for.
keeper::grab()
work <- work + spend(1000)
held <- keeper::holds()
keeper::let_go()
work <- work + spend(1000)

# A function of the script that the package keeps, and one that is put in the place of the package's.
seen <- 0
keeper::settings$set("hook", function(by) seen <<- seen + by)
times <- local({
  n <- 0
  function(by) n <<- n + by
})
utils::assignInNamespace("holds", times, "keeper")
for (k in 1:10) {
  keeper::settings$get("hook")(k)
  times(k)
  keeper::holds(100)
  work <- work + spend(200)
}
seen <- c(seen, times(0), keeper::holds(0))

# What R itself comes with keeps things, too.
RNGkind("L'Ecuyer-CMRG")
set.seed(7)
parallel::mc.reset.stream()
tools::Rd2txt_options(width = 33)
work <- work + spend(1000)
drawn <- unlist(parallel::mclapply(1:4, function(i) runif(1) + i, mc.cores = 2))
work <- work + spend(1000)
again <- unlist(parallel::mclapply(1:4, function(i) runif(1) + i, mc.cores = 2))
width <- tools::Rd2txt_options()$width
rm(First, Second, drawing, hall, lamp, times, red, shelf, mine_too)
