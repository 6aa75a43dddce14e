# Fills its disc and gives up.
source("prelude.R")

block <- as.raw(rep(1:255, length.out = 2^20))
trying("to write four times as much as fits")
options(warn = 2)
file <- file("filler", "wb")
for (i in seq_len(4 * as.numeric(target("disc_mb")))) writeBin(block, file)
escaped("all of it")
