x <- numeric(10)
for (i in seq_along(x)) { if (i == 3) next; if (i == 9) break; x[i] <- i^2 }
x
m <- matrix(0, 4, 4); for (i in 1:4) for (j in 1:4) m[i, j] <- i * j; m
k <- 0; while (TRUE) { k <- k + 1; if (k %% 2) next; if (k > 10) break }; k
repeat { k <- k - 1; if (k < 5) break }; k
for (w in c("a", "b")) cat(w, ""); cat("\n"); w
for (e in list(1, "z", NULL, 3i)) str(e)
for (i in integer()) stop("never"); i
for (d in as.Date(c("2024-01-01", "2024-06-01"))) print(d)
for (n in names(c(p = 1, q = 2))) x <- paste0(n, x[1]); x
out <- vapply(1:5, function(i) { k <<- k + i; k }, 0); out; k
z <- 0; for (i in 1:100000) z <- z + i %% 7; z
i <- 5; for (i in 1:3) i <- i * 100; i
f <- function() { for (k in 1:3) { if (k == 2) return(k) } }; f(); k
s <- 0; do <- function(n) { while (n > 0) { s <<- s + n; n <- n - 1 } }; do(10); do(20); do(5); s
for (q in 1:3) eval(quote(if (q == 2) next else print(q)))
res <- sapply(c(a = 1, b = 2), function(v) v * 2); res
x <- 1:3; for (v in x) x[4] <- v; x
