# Numbers of Fibonacci by plain recursion, with the way there in fifteen variables.
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
w1 <- w2 <- w3 <- w4 <- w5 <- w6 <- w7 <- w8 <- w9 <- w10 <- w11 <- w12 <- w13 <- w14 <- w15 <- 0
for (i in seq_len(steps * 5)) {
  w1 <- i
  w2 <- 16 + i %% 5
  w3 <- fib(w2)
  w4 <- w3 / (w2 + 1)
  w5 <- c(w2, w3)
  w6 <- w6 + w3
  w7 <- max(w7, w3)
  w8 <- w6 / i
  w9 <- sqrt(w3)
  w10 <- log(w3)
  w11 <- paste(w2, w3)
  w12 <- w3 %% 2 == 0
  w13 <- w13 + w12
  w14 <- list(w2, w3)
  w15 <- w13 / i
}
