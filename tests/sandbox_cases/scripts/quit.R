# Ends R by q(), in every spelling.
source("prelude.R")

trying("q()")
before <- "kept"
q("yes", 0, TRUE)
contained("q() returned")
base::quit("no")
