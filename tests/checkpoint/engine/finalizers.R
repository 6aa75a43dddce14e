# What is called when R collects something, in the process that happens to do so.
closed <- character()
open <- function(name) {
  handle <- new.env()
  handle$name <- name
  reg.finalizer(handle, function(h) closed <<- c(closed, h$name))
  handle
}
spend <- function(n) {
  total <- 0
  for (i in seq_len(n)) total <- total + sum(sqrt(seq_len(i %% 50)))
  total
}
kept <- open("kept")
short <- open("short")
work <- spend(3000)
rm(short)
invisible(gc())
after_one <- closed
held <- lapply(c("a", "b"), open)
for (k in 1:20) work <- work + spend(200)
held <- held[1]
invisible(gc())
after_two <- closed
work <- work + spend(3000)
rm(kept, held)
invisible(gc())
after_all <- sort(closed)

# A package registers its own when it is loaded, in any process.
loadNamespace("parallel")
loadNamespace("cli")
work <- work + spend(300)
job <- parallel::mcparallel({
  Sys.sleep(0.1)
  42
})
invisible(gc())
collected <- unname(unlist(parallel::mccollect(job)))
rm(job)

# Many, of which some are called while others are registered.
count <- 0
for (k in 1:20) {
  for (j in 1:500) {
    handle <- new.env(hash = FALSE)
    reg.finalizer(handle, function(h) count <<- count + 1)
  }
  work <- work + spend(20)
}
rm(handle)
invisible(gc())
counted <- count

# A method of the class, called by R.
Door <- setRefClass("Door", fields = list(name = "character"), methods = list(finalize = function() closed <<- c(closed, name)))
doors <- lapply(c("front", "back"), function(name) Door$new(name = name))
work <- work + spend(300)
rm(doors)
invisible(gc())
doors_closed <- sort(tail(closed, 2))
