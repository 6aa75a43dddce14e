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
