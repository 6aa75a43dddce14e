# A `while` at the top level. 5000000 iterations.
i <- 0
while (i < 5e6) i <- i + 1
