# Writes to the elements of a vector at the top level. 5000000 iterations.
v <- numeric(5e6)
for (i in seq_along(v)) v[i] <- i %% 7
x <- sum(v)
