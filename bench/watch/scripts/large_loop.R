# Writes to a vector of 100 MB as fast as it can.
x <- numeric(12500000)
for (i in 1:steps) x[(i * 7919) %% 12500000 + 1] <- i
