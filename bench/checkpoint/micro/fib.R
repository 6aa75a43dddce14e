# Fibonacci numbers by recursion. 832040 iterations.
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
x <- fib(28)
