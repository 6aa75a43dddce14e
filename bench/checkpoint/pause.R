# bench/checkpoint/run --part pause: how long R stands still for a checkpoint of a large state, and how long it takes until it
# is complete.
words <- commandArgs(TRUE)
room <- words[[1L]]
rounds <- as.integer(words[[2L]])
dyn.load("build/bin/checkpoint_native.so")
folder <- "volunteer/runner/checkpoint"
source(file.path(folder, "load.R"), local = (loader <- new.env()))
engine <- loader$load_engine_from(folder, .Call("checkpoint_natives"), cache = "build/bin/checkpoint_native.rds")
now <- function() .Call(engine$native$now)
ms <- function(seconds) 1000 * seconds

engine$session$folder <- file.path(room, "work")
dir.create(engine$session$folder)
state <- file.path(room, "state")
dir.create(state)
engine$engine_state$generation <- 0L
engine$begin_script(expression(NULL))
engine$schedule_checkpoints(state)
engine$script$step <- 1L

take <- function() {
  engine$engine_state$pauses <- numeric()
  from <- now()
  if (!isTRUE(engine$save_checkpoint(NULL, list()))) stop("refused: ", names(engine$engine_state$refusals)[[1L]])
  if (!engine$reap_writer(TRUE)) stop("refused: ", names(engine$engine_state$refusals)[[1L]])
  c(pause = engine$engine_state$pauses, complete = ms(now() - from))
}
fork_and_wait <- function() {
  from <- now()
  child <- parallel:::mcfork()
  if (inherits(child, "masterProcess")) parallel:::mcexit(0L)
  back <- now()
  parallel:::selectChildren(child, -1)
  parallel:::rmChild(child)
  ms(back - from)
}
copy <- function(x) {
  from <- now()
  x[[1L]] <- 0
  ms(now() - from)
}
write_synced <- function(bytes) {
  file <- file.path(state, "bytes")
  from <- now()
  system2("dd", c("if=/dev/zero", paste0("of=", file), "bs=1M", paste0("count=", max(1, bytes %/% 2^20)), "conv=fsync"), stderr = FALSE)
  took <- ms(now() - from)
  unlink(file)
  took
}

cat(sprintf("%8s %9s %9s %9s %12s %12s %8s\n", "state", "pause ms", "fork ms", "copy ms", "complete ms", "written ms", "ratio"))
for (bytes in c(1, 100, 1024) * 2^20) {
  kept <- stats::runif(bytes / 8)
  assign("kept", kept, envir = globalenv())
  least <- c(pause = Inf, complete = Inf, fork = Inf, copy = Inf, written = Inf)
  for (round in seq_len(rounds)) {
    once <- c(take(), fork = fork_and_wait(), copy = copy(kept), written = write_synced(bytes))
    least <- pmin(least, once[names(least)])
  }
  cat(sprintf("%5.0f MB %9.2f %9.2f %9.2f %12.1f %12.1f %8.2f\n", bytes / 2^20, least[["pause"]], least[["fork"]], least[["copy"]],
              least[["complete"]], least[["written"]], least[["complete"]] / least[["written"]]))
  rm(kept)
  invisible(gc())
}
