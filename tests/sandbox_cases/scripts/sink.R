# Sends its output elsewhere and closes what it can.
source("prelude.R")

trying("sink()")
sink("elsewhere.txt")
cat("hidden\n")
closeAllConnections()
kept <- "kept"
