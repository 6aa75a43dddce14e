# Calls itself without end.
source("prelude.R")

trying("infinite recursion")
options(expressions = 500000)
deeper <- function(n) deeper(n + 1) + 1
deeper(1)
