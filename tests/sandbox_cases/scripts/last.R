# Has a last word that fails, and a finalizer that never ends.
source("prelude.R")

trying(".Last()")
.Last <- function() stop("no last word")
invisible(reg.finalizer(globalenv(), function(e) repeat Sys.sleep(1), onexit = TRUE))
kept <- "kept"
