set.seed(42); x <- rnorm(5); x; x <- sample(10); x; s <- sum(x); s
x <- c(0.1 + 0.2, 1/3, 1e-300 * 1e-300, .Machine$integer.max + 1L); x
x <- 2147483647L; y <- tryCatch(x + 1L, warning = function(w) "overflow"); y
z <- complex(real = 1, imaginary = -1); Mod(z); z * Conj(z); bitwAnd(12L, 10L); 5 %/% 2; -5 %/% 2; -5 %% 3
x <- 1:10; x[x > 5] <- 0L; x; x[15] <- 1L; x; cumsum(1:5); diff(c(1, 4, 9)); outer(1:3, 1:3)
m <- matrix(c(2, 1, 1, 3), 2); solve(m); m %*% m; det(m); eigen(m)$values; x <- crossprod(m); x
optimize(function(v) { s <<- s + 1; (v - 2)^2 }, c(0, 5))$minimum; s > 0
optim(c(1, 1), function(p) sum((p - c(2, 3))^2))$convergence; integrate(dnorm, -1.96, 1.96)
round(quantile(x), 3); format(1234567.891, big.mark = ","); as.hexmode(255); rev(as.integer(intToBits(5))[1:4])
replicate(3, { s <- s + 1; s }); s; mapply(function(a, b) a + b, 1:3, 4:6); Recall; identical(as.integer(c(1, 2)), 1:2)
x <- 0; for (i in 1:1000) x <- x + 1 / i; x; prod(1:10); factorial(5); choose(5, 2); x <- NA; is.na(x); mean(c(1, NA), na.rm = TRUE)
