# Misbehaves in no way.
source("prelude.R")

trying("a sum")
total <- sum(1:1000)
writeLines(as.character(total), "answer.txt")
