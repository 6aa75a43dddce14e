# Leaves its working directory.
source("prelude.R")

trying("setwd()")
setwd(tempdir())
writeLines("elsewhere", "elsewhere.txt")
after <- "kept"
