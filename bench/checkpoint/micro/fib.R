# Fibonacci numbers by recursion. 1028457 iterations.
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
x <- fib(28)
