# Leaves variables that cannot be read, and a global environment that cannot be changed.
source("prelude.R")

trying("bindings that bite")
kept <- "kept"
makeActiveBinding("active", function() repeat stop("do not touch"), globalenv())
delayedAssign("promised", stop("do not force"))
lockEnvironment(globalenv(), bindings = TRUE)
