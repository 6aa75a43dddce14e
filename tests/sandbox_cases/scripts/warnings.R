# Warns.
source("prelude.R")

trying("warning()")
half <- as.integer("a half")
careful <- function() warning("be careful")
careful()
kept <- "kept"
