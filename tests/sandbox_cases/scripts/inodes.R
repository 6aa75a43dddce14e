# Makes files without end.
source("prelude.R")

allowed <- as.numeric(target("inodes_max"))
trying(4 * allowed, " files, where ", allowed, " are allowed")
refused <- tryCatch({
  for (i in seq_len(4 * allowed)) {
    if (!file.create(paste0("file-", i))) stop("file.create")
    if (i > 2 * allowed && i %% 100 == 0) Sys.sleep(0.1)
  }
  NULL
}, error = identity, warning = identity)
if (is.null(refused)) escaped(4 * allowed, " files") else contained(conditionMessage(refused))
