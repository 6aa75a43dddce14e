# Fills memory with vectors until R refuses or it has three times what it may have.
source("prelude.R")

allowed <- as.numeric(target("ram_mb"))
attempt(paste(3 * allowed, "MB in vectors"), {
  kept <- list()
  while (length(kept) * 16 < 3 * allowed) kept[[length(kept) + 1]] <- rep(1, 2^21)
  TRUE
})
kept <- NULL
