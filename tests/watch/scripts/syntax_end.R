x <- 1
cat("ran\n")
x <- x + 1
print(x)
x <- (2 +
