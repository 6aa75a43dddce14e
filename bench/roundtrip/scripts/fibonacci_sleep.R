# The same with pauses: mostly waiting.
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
for (n in 16:20) {
  x <- fib(n)
  Sys.sleep(0.4)
}
