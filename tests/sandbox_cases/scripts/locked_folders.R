# Leaves folders that nobody may enter.
source("prelude.R")

trying("folders without any rights")
dir.create("locked/inner", recursive = TRUE)
writeLines("x", "locked/inner/file")
Sys.chmod("locked/inner/file", "000")
Sys.chmod("locked/inner", "000")
Sys.chmod("locked", "000")
