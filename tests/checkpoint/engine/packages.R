# What packages keep to themselves: it goes with the script, and what is shared with it stays shared.
spend <- function(n) {
  total <- 0
  for (i in seq_len(n)) total <- total + sum(sqrt(seq_len(i %% 50)))
  total
}
# All classes of R6 have one environment around them, which is the package's.
First <- R6::R6Class("First", public = list(n = 0, add = function() {
  self$n <- self$n + 1
  invisible(self)
}))
work <- spend(2000)
Second <- R6::R6Class("Second", inherit = First)
work <- work + spend(2000)
shared <- identical(parent.env(First), parent.env(Second))
counts <- c(First$new()$add()$n, Second$new()$add()$add()$n)

# An environment that is a package's variable.
for (k in 1:20) {
  do.call(lattice::lattice.options, stats::setNames(list(k^2), paste0("remotist", k %% 7)))
  work <- work + spend(200)
}
set_options <- unlist(lattice::lattice.options()[paste0("remotist", 0:6)])

# One that a function was made in; the script has that function, too.
width <- tools::Rd2txt_options
for (k in 1:10) {
  width(width = 40 + k)
  work <- work + spend(200)
}
widths <- c(tools::Rd2txt_options()$width, width()$width)
tools::Rd2txt_options(width = 33)
work <- work + spend(2000)
same_widths <- c(tools::Rd2txt_options()$width, width()$width)

# One that was empty when the package was loaded.
RNGkind("L'Ecuyer-CMRG")
set.seed(7)
parallel::mc.reset.stream()
work <- work + spend(2000)
drawn <- unlist(parallel::mclapply(1:4, function(i) runif(1) + i, mc.cores = 2))
work <- work + spend(2000)
again <- unlist(parallel::mclapply(1:4, function(i) runif(1) + i, mc.cores = 2))
rm(First, Second, width)
