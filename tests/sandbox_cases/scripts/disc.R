# Fills the disc.
source("prelude.R")

allowed <- as.numeric(target("disc_mb"))
trying(4 * allowed, " MB, where ", allowed, " are allowed")
block <- as.raw(rep(1:255, length.out = 2^20))
refused <- tryCatch({
  for (i in seq_len(4 * allowed)) {
    file <- file(paste0("filler-", i %/% 8), "ab")
    writeBin(block, file)
    close(file)
    if (i > 2 * allowed) Sys.sleep(0.05)
  }
  NULL
}, error = identity, warning = identity)
if (is.null(refused)) escaped(4 * allowed, " MB") else contained(conditionMessage(refused))
