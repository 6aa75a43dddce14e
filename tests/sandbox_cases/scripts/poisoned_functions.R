# Replaces the functions with which its result might be saved.
source("prelude.R")

trying("other functions in base")
forged <- function(...) stop("forged")
for (name in c("saveRDS", "serialize", "ls", "mget", "get", "as.list.environment", "conditionMessage", "sys.calls", "deparse", "tryCatch"))
  tryCatch({
    unlockBinding(name, baseenv())
    assign(name, forged, envir = baseenv())
  }, error = function(e) NULL)
