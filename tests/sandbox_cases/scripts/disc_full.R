# Fills its disc, sees that, makes room and goes on.
source("prelude.R")

block <- as.raw(rep(1:255, length.out = 2^20))
fill <- function(name) {
  file <- file(name, "wb")
  on.exit(close(file))
  for (i in seq_len(4 * as.numeric(target("disc_mb")))) writeBin(block, file)
}
trying("to write four times as much as fits")
refused <- tryCatch(fill("filler"), error = identity, warning = identity)
if (inherits(refused, "condition")) contained(conditionMessage(refused)) else escaped("all of it")
unlink("filler")
writeBin(block, "small")
stopifnot(file.size("small") == length(block))
unlink("small")
