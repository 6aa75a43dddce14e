# Writes without end to standard output and to standard error.
source("prelude.R")

trying("48 MB of output")
line <- paste0(strrep("x", 8190), "\n")
for (i in 1:6000) cat(line, file = if (i %% 2) stdout() else stderr())
